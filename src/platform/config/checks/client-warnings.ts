import type { Finding } from '../findings.ts'
import type { Config } from '../schema.ts'

/** Returns warnings about settings of clients that are valid, but probably mistakes. */
export function clientWarnings(config: Config): Finding[] {
  return [
    ...openToEveryHost(config),
    ...config.clients.flatMap(({ grants, redirect_uris }, client) => {
      const path = ['clients', client]
      const warnings: Finding[] = redirect_uris.flatMap((uri, index) =>
        uri.includes('*')
          ? [
              {
                path: [...path, 'redirect_uris', index],
                message: 'svc compares URIs exactly, so * matches only itself',
              },
            ]
          : [],
      )
      if (grants.every((grant) => grant === 'refresh_token') && grants.length > 0) {
        const message = 'refresh_token needs a grant that issues refresh tokens, such as authorization_code'
        warnings.push({ path: [...path, 'grants'], message })
      }
      return warnings
    }),
  ]
}

/** With every host allowed, anyone can make svc connect to the private addresses that it may connect to. */
function openToEveryHost({ oauth, outbound }: Config): Finding[] {
  const { enabled, allowed_hosts } = oauth.client_id_metadata
  if (!enabled || allowed_hosts !== null || outbound.allow_private.length === 0) return []
  const message =
    'lets visitors make svc fetch from the addresses of outbound.allow_private; list the hosts of documents'
  return [{ path: ['oauth', 'client_id_metadata', 'allowed_hosts'], message }]
}
