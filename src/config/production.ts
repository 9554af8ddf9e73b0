import type { Finding } from './findings.ts'
import { isLoopback } from './hosts.ts'
import type { Config } from './schema.ts'

/** Everything about a configuration that is unfit for production. */
export function productionFindings(config: Config): Finding[] {
  if (config.app.environment !== 'production') return []
  return [
    ...missingSecret(config),
    ...testPage(config),
    ...plainHttp(config),
    ...plainHttpOrigins(config),
    ...printedMail(config),
    ...everyHostStateful(config),
  ]
}

function missingSecret({ app }: Config): Finding[] {
  if (app.secret.length > 0) return []
  return [{ path: ['app', 'secret'], message: 'is required in production: at least 32 random bytes' }]
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
    if (!/^[*.]+(:\d+)?$/.test(entry)) return []
    return [{ path: ['stateful', index], message: `must not stand for every host in production (found "${entry}")` }]
  })
}

function isPlainHttpAbroad(origin: string): boolean {
  return origin.startsWith('http:') && !isLoopback(new URL(origin).hostname)
}
