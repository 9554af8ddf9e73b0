import { SECRET_BYTES } from './checks/sections.ts'
import type { Finding, Path } from './findings.ts'
import { weaknessOf } from './guessable.ts'
import { isLoopback, isPublicSuffix } from './hosts.ts'
import { PublishedSecrets } from './published-secrets.ts'
import type { Config, Settings } from './schema.ts'

/**
 * `app.environment` is required when svc is reachable from other hosts, so that development mode is never an accident.
 */
export function unstatedEnvironment({ app }: Settings): Finding[] {
  if (app.environment !== null || isLoopback(new URL(app.url).hostname)) return []
  const message = `is required because app.url is not loopback (found "${app.url}"); expected production or development`
  return [{ path: ['app', 'environment'], message }]
}

/** Returns everything that makes a configuration unfit for production. */
export function productionFindings(config: Config): Finding[] {
  if (config.app.environment !== 'production') return []
  const published = new PublishedSecrets()
  return [
    ...missingSecret(config),
    ...weakSecrets(config, published),
    ...weakClientSecrets(config, published),
    ...testPage(config),
    ...plainHttp(config),
    ...plainHttpOrigins(config),
    ...plainHttpKeys(config),
    ...plainHttpReceivers(config),
    ...weakSigningSecrets(config, published),
    ...printedMail(config),
    ...everyHostStateful(config),
  ]
}

function missingSecret({ app }: Config): Finding[] {
  if (app.secret.length > 0) return []
  return [
    {
      path: ['app', 'secret'],
      message: 'is required in production; expected at least 32 random bytes from openssl rand -base64 32',
    },
  ]
}

/** Minimum entropy in bits. Random text of the required length has far more. */
const LEAST_BITS = { app: 100, client: 64 }

const MAKE_ONE = 'generate one with: openssl rand -base64 32'

function weakSecrets({ app }: Config, published: PublishedSecrets): Finding[] {
  return app.secret.flatMap((secret, index) => {
    // Another check rejects short secrets in every environment.
    const weakness = Buffer.byteLength(secret) < SECRET_BYTES ? null : weaknessOf(secret, LEAST_BITS.app, published)
    if (weakness === null) return []
    const path = app.secret.length > 1 ? ['app', 'secret', index] : ['app', 'secret']
    return [{ path, message: `must be random, but this one ${weakness}; ${MAKE_ONE}` }]
  })
}

function weakClientSecrets({ clients }: Config, published: PublishedSecrets): Finding[] {
  return clients.flatMap(({ secret, secret_hash }, index) => {
    const weakness = [secret ?? []]
      .flat()
      .map((one) => weaknessOf(one, LEAST_BITS.client, published))
      .find((found) => found !== null)
    if (weakness !== undefined) {
      const message = `must be random, but this one ${weakness}; generate one with: svc client:secret`
      return [{ path: ['clients', index, 'secret'], message }]
    }
    const hashes = [secret_hash ?? []].flat().map((hash) => hash.replace(/^sha256:/, ''))
    if (!hashes.some((hash) => published.hasHash(hash))) return []
    const message = 'must not be the hash of a published secret; generate one with: svc client:secret'
    return [{ path: ['clients', index, 'secret_hash'], message }]
  })
}

function testPage({ test_page }: Config): Finding[] {
  return test_page ? [{ path: ['test_page'], message: 'must be false in production' }] : []
}

function plainHttp({ app }: Config): Finding[] {
  if (!isPlainHttpAbroad(app.url)) return []
  return [{ path: ['app', 'url'], message: `must use https in production (found "${app.url}")` }]
}

function plainHttpOrigins({ cors }: Config): Finding[] {
  return (cors.origins ?? []).flatMap((origin, index) => {
    if (!isPlainHttpAbroad(origin)) return []
    return [{ path: ['cors', 'origins', index], message: `must use https in production (found "${origin}")` }]
  })
}

/** Everything that svc sends signed messages to, with its place. */
const receiversOf = ({ webhooks, hooks }: Config): [Path, { url: string; secret: string | readonly string[] }][] => [
  ...webhooks.map((receiver, index): [Path, typeof receiver] => [['webhooks', index], receiver]),
  ...Object.entries(hooks).flatMap(([name, hook]): [Path, typeof hook][] => (hook ? [[['hooks', name], hook]] : [])),
]

/** Messages contain personal data. Networks in `outbound.allow_private` are the operator's own. */
function plainHttpReceivers(config: Config): Finding[] {
  if (config.outbound.allow_private.length > 0) return []
  return receiversOf(config).flatMap(([path, { url }]) => {
    if (!url.startsWith('http:')) return []
    const message = `must use https in production, unless outbound.allow_private lists its network (found "${url}")`
    return [{ path: [...path, 'url'], message }]
  })
}

function weakSigningSecrets(config: Config, published: PublishedSecrets): Finding[] {
  return receiversOf(config).flatMap(([path, { secret }]) => {
    const weakness = [secret]
      .flat()
      .map((one) => weaknessOf(one, LEAST_BITS.client, published))
      .find(Boolean)
    if (!weakness) return []
    const message = `must be random, but this one ${weakness}; generate one with: openssl rand -base64 32`
    return [{ path: [...path, 'secret'], message }]
  })
}

function plainHttpKeys({ clients }: Config): Finding[] {
  return clients.flatMap(({ jwks_uri, federated, allow_private_addresses }, index) => {
    const urls: [Path, string | null | undefined][] = [
      [['jwks_uri'], jwks_uri],
      ...federated.flatMap(({ issuer, jwks_uri }, at): [Path, string | null][] => [
        [['federated', at, 'issuer'], jwks_uri === null ? issuer : null],
        [['federated', at, 'jwks_uri'], jwks_uri],
      ]),
    ]
    return urls
      .filter(([, url]) => url?.startsWith('http:') && !allow_private_addresses)
      .map(([key, url]) => ({
        path: ['clients', index, ...key],
        message: `must use https in production, unless allow_private_addresses is true (found "${url}")`,
      }))
  })
}

function printedMail({ mail }: Config): Finding[] {
  if (mail.url !== 'log:') return []
  return [
    {
      path: ['mail', 'url'],
      message: 'must be smtp(s)://… or file:<directory> in production; log: prints links that sign users in',
    },
  ]
}

function everyHostStateful({ stateful }: Config): Finding[] {
  return stateful.flatMap((entry, index) => {
    const [, domain] = /^\*\.(.+?)(?::\d+)?$/.exec(entry) ?? []
    const isEverybody = /^[*.]+(:\d+)?$/.test(entry) || (domain !== undefined && isPublicSuffix(domain))
    if (!isEverybody) return []
    return [{ path: ['stateful', index], message: `must not match public hosts in production (found "${entry}")` }]
  })
}

function isPlainHttpAbroad(origin: string): boolean {
  return origin.startsWith('http:') && !isLoopback(new URL(origin).hostname)
}
