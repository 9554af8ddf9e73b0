import type { Finding } from './findings.ts'
import { isLoopback, isPublicSuffix } from './hosts.ts'
import type { Config } from './schema.ts'

/** Everything about a configuration that is unfit for production. */
export function productionFindings(config: Config): Finding[] {
  if (config.app.environment !== 'production') return []
  return [
    ...missingSecret(config),
    ...weakSecrets(config),
    ...testPage(config),
    ...plainHttp(config),
    ...plainHttpOrigins(config),
    ...plainHttpKeys(config),
    ...printedMail(config),
    ...everyHostStateful(config),
  ]
}

function missingSecret({ app }: Config): Finding[] {
  if (app.secret.length > 0) return []
  return [{ path: ['app', 'secret'], message: 'is required in production: at least 32 random bytes' }]
}

/** Fewer different characters than any random secret of that length has. */
const FEWEST_CHARACTERS = 10

function weakSecrets({ app }: Config): Finding[] {
  return app.secret.flatMap((secret, index) => {
    if (new Set(secret).size >= FEWEST_CHARACTERS) return []
    const path = app.secret.length > 1 ? ['app', 'secret', index] : ['app', 'secret']
    return [{ path, message: 'must be random: this one repeats a few characters' }]
  })
}

function testPage({ test_page }: Config): Finding[] {
  return test_page ? [{ path: ['test_page'], message: 'must be false in production' }] : []
}

function plainHttp({ app }: Config): Finding[] {
  if (!isPlainHttpAbroad(app.url)) return []
  return [{ path: ['app', 'url'], message: `must be https in production (found "${app.url}")` }]
}

function plainHttpOrigins({ cors }: Config): Finding[] {
  return (cors.origins ?? []).flatMap((origin, index) => {
    if (!isPlainHttpAbroad(origin)) return []
    return [{ path: ['cors', 'origins', index], message: `must be https in production (found "${origin}")` }]
  })
}

function plainHttpKeys({ clients }: Config): Finding[] {
  return clients.flatMap(({ jwks_uri, allow_private_addresses }, index) => {
    if (!jwks_uri?.startsWith('http:') || allow_private_addresses) return []
    const message = `must be https in production, unless allow_private_addresses is true (found "${jwks_uri}")`
    return [{ path: ['clients', index, 'jwks_uri'], message }]
  })
}

function printedMail({ mail }: Config): Finding[] {
  if (mail.url !== 'log:') return []
  return [
    {
      path: ['mail', 'url'],
      message: 'must be smtp(s)://… or file:<directory> in production; log: prints links that sign people in',
    },
  ]
}

function everyHostStateful({ stateful }: Config): Finding[] {
  return stateful.flatMap((entry, index) => {
    const [, domain] = /^\*\.(.+?)(?::\d+)?$/.exec(entry) ?? []
    const isEverybody = /^[*.]+(:\d+)?$/.test(entry) || (domain !== undefined && isPublicSuffix(domain))
    if (!isEverybody) return []
    return [
      { path: ['stateful', index], message: `must not stand for everybody's hosts in production (found "${entry}")` },
    ]
  })
}

function isPlainHttpAbroad(origin: string): boolean {
  return origin.startsWith('http:') && !isLoopback(new URL(origin).hostname)
}
