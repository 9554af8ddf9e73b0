import { statSync } from 'node:fs'
import { breachedIndexProblem } from '../../crypto/breached-passwords.ts'
import { problemOf } from '../../languages/messages.ts'
import { featureCookies } from '../features.ts'
import type { Finding, Report } from '../findings.ts'
import { isLoopback, isPublicSuffix, isWithin } from '../hosts.ts'
import { isShownText, textFilesIn, textsWithPaths } from '../own-messages.ts'
import type { Config } from '../schema.ts'
import { certificateProblem, connectionUrlProblem } from '../url-parameters.ts'

type Check = (config: Config, report: Report) => void

/** Minimum length of `app.secret`, in bytes. */
export const SECRET_BYTES = 32

/** Rules between keys of the other sections. */
export const sectionChecks: readonly Check[] = [
  secretsAreLong,
  cookieDomainCoversUs,
  crossSiteCookiesAreSecure,
  cookiePrefixesAreHonoured,
  cookiesAreNoOthers,
  sessionsCanBeBound,
  passwordLengthsFit,
  breachedIndexIsReadable,
  linkPlaceholdersExist,
  templateDirectoriesExist,
  defaultLanguageIsOffered,
  messagesAreValid,
  portsDiffer,
  termsAreComplete,
  everythingIsNoScope,
  workersCanShareTheDatabase,
  sentinelsNameThePrimary,
  connectionUrlsAreUnderstood,
  mailCanBeEncrypted,
]

function secretsAreLong({ app }: Config, report: Report): void {
  for (const [index, secret] of app.secret.entries()) {
    if (Buffer.byteLength(secret) >= SECRET_BYTES) continue
    const path = app.secret.length > 1 ? ['app', 'secret', index] : ['app', 'secret']
    report(path, `must be at least ${SECRET_BYTES} random bytes; create it with openssl rand -base64 32`)
  }
}

function cookieDomainCoversUs({ app, session }: Config, report: Report): void {
  if (session.domain === null) return
  const domain = session.domain.replace(/^\./, '').toLowerCase()
  const host = new URL(app.url).hostname
  if (!isWithin(host, domain)) {
    report(
      ['session', 'domain'],
      `must be the host of app.url, ${host}, or a parent domain (found "${session.domain}")`,
    )
  } else if (isPublicSuffix(domain)) {
    report(
      ['session', 'domain'],
      `must not be a public suffix, where anyone can register names (found "${session.domain}")`,
    )
  }
}

function crossSiteCookiesAreSecure({ session }: Config, report: Report): void {
  if (session.same_site !== 'none' || session.secure) return
  report(['session', 'same_site'], 'must not be none unless cookies are secure; browsers reject such cookies over http')
}

function cookiePrefixesAreHonoured({ session }: Config, report: Report): void {
  for (const key of ['cookie', 'xsrf_cookie'] as const) {
    const found = `(found "${session[key]}")`
    if (/^__(Secure|Host)-/i.test(session[key]) && !session.secure)
      report(['session', key], `must not begin with __Secure- or __Host- unless cookies are secure ${found}`)
    else if (/^__Host-/i.test(session[key]) && session.domain !== null)
      report(['session', key], `must not begin with __Host- when session.domain is set ${found}`)
  }
}

/** Browsers bind sessions on https and on localhost only. */
function sessionsCanBeBound({ app, session }: Config, report: Report): void {
  const { protocol, hostname } = new URL(app.url)
  if (session.bound !== 'off' && protocol !== 'https:' && !isLoopback(hostname))
    report(['session', 'bound'], 'must be off unless app.url is https; browsers bind no session over http')
  if (session.bound === 'off' && session.bound_required_for.length > 0)
    report(['session', 'bound_required_for'], 'must be empty while session.bound is off; set it to when_available')
}

/** Cookie names that svc already uses. */
const OWN_COOKIES = /^svc_(remember|browser|bound|flash|language|ui_locales|oauth_.*)$/

function cookiesAreNoOthers({ session }: Config, report: Report): void {
  const nameOf = (key: 'cookie' | 'xsrf_cookie') => session[key].replace(/^__(Secure|Host)-/i, '')
  const second = session.xsrf_cookie === 'XSRF-TOKEN' ? 'cookie' : 'xsrf_cookie'
  for (const key of ['cookie', 'xsrf_cookie'] as const) {
    const name = nameOf(key)
    const isOther = key === second && nameOf('cookie') === nameOf('xsrf_cookie')
    if (isOther || OWN_COOKIES.test(name) || featureCookies.some((prefix) => name.startsWith(prefix)))
      report(['session', key], `must not be ${session[key]}, which svc uses for another cookie`)
  }
}

function passwordLengthsFit({ passwords }: Config, report: Report): void {
  if (passwords.max_length >= passwords.min_length) return
  report(
    ['passwords', 'max_length'],
    `must be at least passwords.min_length, ${passwords.min_length} (found ${passwords.max_length})`,
  )
}

function breachedIndexIsReadable({ passwords: { breached } }: Config, report: Report): void {
  const problem = breached.file === null ? null : breachedIndexProblem(breached.file)
  if (problem !== null) report(['passwords', 'breached', 'file'], `${problem} (found "${breached.file}")`)
}

const PLACEHOLDERS = {
  verify: { required: ['{id}', '{hash}'], allowed: [] },
  reset: { required: ['{token}'], allowed: ['{email}'] },
  login: { required: [], allowed: [] },
  register: { required: [], allowed: [] },
  account: { required: [], allowed: [] },
  two_factor: { required: [], allowed: [] },
  after_verify: { required: [], allowed: [] },
  help: { required: [], allowed: [] },
  privacy: { required: [], allowed: [] },
  terms: { required: [], allowed: [] },
} as const satisfies Record<keyof Config['links'], { required: readonly string[]; allowed: readonly string[] }>

function linkPlaceholdersExist({ links }: Config, report: Report): void {
  for (const [key, { required, allowed }] of Object.entries(PLACEHOLDERS)) {
    const template = links[key as keyof typeof PLACEHOLDERS] ?? ''
    const known: readonly string[] = [...required, ...allowed]
    const missing = required.filter((name) => !template.includes(name))
    const unknown = (template.match(/\{[^}]*\}?/g) ?? []).filter((name) => !known.includes(name))
    if (missing.length > 0 && template !== '') report(['links', key], `must contain ${missing.join(' and ')}`)
    if (unknown.length > 0) {
      const allowedNames = ['{frontend_url}', ...known].join(', ')
      report(['links', key], `must not contain ${unknown.join(', ')}; it may contain ${allowedNames}`)
    }
  }
}

function templateDirectoriesExist({ templates }: Config, report: Report): void {
  for (const [key, directory] of Object.entries(templates)) {
    if (directory === null || statSync(directory, { throwIfNoEntry: false })?.isDirectory()) continue
    report(['templates', key], `must be an existing directory (found "${directory}")`)
  }
}

function defaultLanguageIsOffered({ i18n }: Config, report: Report): void {
  if (i18n.languages.includes(i18n.default)) return
  report(['i18n', 'default'], `must be one of i18n.languages, ${i18n.languages.join(', ')} (found "${i18n.default}")`)
}

function messagesAreValid(config: Config, report: Report): void {
  const { directory } = config.i18n
  if (directory !== null && !statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    report(['i18n', 'directory'], `must be an existing directory (found "${directory}")`)
  for (const { file, problem } of textFilesIn(directory))
    if (problem !== null) report(['i18n', 'directory'], `the file ${file} ${problem}`)
  for (const { path, place, name, text } of textsWithPaths(config)) {
    const problem = isShownText(name, config) ? problemOf(name, text) : null
    if (problem !== null) report(path, place.endsWith('.json') ? `${name} in ${place} ${problem}` : problem)
  }
}

function portsDiffer({ server, metrics, guard }: Config, report: Report): void {
  for (const [section, port] of [
    ['metrics', metrics.port],
    ['guard', guard.port],
  ] as const) {
    if (port === server.port) report([section, 'port'], `must differ from server.port (found ${port})`)
  }
  if (guard.port !== null && guard.port === metrics.port)
    report(['guard', 'port'], `must differ from metrics.port (found ${guard.port})`)
}

function everythingIsNoScope({ scopes }: Config, report: Report): void {
  if (Object.hasOwn(scopes, '*')) report(['scopes', '*'], 'is not allowed; list each scope')
}

function connectionUrlsAreUnderstood({ database, redis, mail }: Config, report: Report): void {
  for (const [section, { url }] of Object.entries({ database, redis, mail })) {
    const problem = url && connectionUrlProblem(url)
    if (problem) report([section, 'url'], problem)
  }
}

function mailCanBeEncrypted({ mail: { url, tls, ca_file } }: Config, report: Report): void {
  if (url.startsWith('smtps:') && tls === 'none')
    report(['mail', 'tls'], 'must not be none with smtps:, which always encrypts; use smtp: in mail.url')
  if (ca_file === null) return
  const problem = certificateProblem(ca_file)
  if (problem) report(['mail', 'ca_file'], `${problem} (found "${ca_file}")`)
}

function sentinelsNameThePrimary({ redis }: Config, report: Report): void {
  if (redis.sentinels.length === 0) {
    if (redis.sentinel_password !== null) report(['redis', 'sentinel_password'], 'requires redis.sentinels')
    return
  }
  if (redis.url === null) report(['redis', 'sentinels'], 'requires redis.url, such as redis://mymaster')
  else if (new URL(redis.url).port !== '')
    report(['redis', 'url'], 'must not have a port with sentinels, because its host is the name of the primary')
}

function workersCanShareTheDatabase({ server, database }: Config, report: Report): void {
  if (database.engine !== 'sqlite' || server.workers === 'auto' || server.workers === 1) return
  const reason = 'because only one process at a time can write to its file; use PostgreSQL for more'
  report(['server', 'workers'], `must be 1 with SQLite, ${reason} (found ${server.workers})`)
}

/** With every host allowed, anyone can make svc connect to the private addresses that it may connect to. */
export function documentWarnings({ oauth, outbound }: Config): Finding[] {
  const { enabled, allowed_hosts } = oauth.client_id_metadata
  if (!enabled || allowed_hosts !== null || outbound.allow_private.length === 0) return []
  const message =
    'lets visitors make svc fetch from the addresses of outbound.allow_private; list the hosts of documents'
  return [{ path: ['oauth', 'client_id_metadata', 'allowed_hosts'], message }]
}

function termsAreComplete({ terms: { version, url } }: Config, report: Report): void {
  if ((version === null) === (url === null)) return
  report(['terms', version === null ? 'version' : 'url'], 'is required together with the other key of terms')
}
