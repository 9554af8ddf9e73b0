import type { Finding } from '../findings.ts'
import type { Config } from '../schema.ts'

/** Returns warnings about settings of clients that are valid, but probably mistakes. */
export function clientWarnings({ clients }: Config): Finding[] {
  return clients.flatMap(({ grants, redirect_uris }, client) => {
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
  })
}
