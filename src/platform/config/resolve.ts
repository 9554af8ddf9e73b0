import { resolve as absolute } from 'node:path'
import { resolveFeatures } from './features.ts'
import type { PlaceOf } from './findings.ts'
import { isLoopback } from './hosts.ts'
import { ownMessages } from './own-messages.ts'
import type { Config, Settings } from './schema.ts'

/** Derives values from other keys, the environment and the working directory. */
export function resolveConfig(settings: Settings, cwd: string, placeOf: PlaceOf): Config {
  const url = new URL(settings.app.url)
  const frontend = new URL(settings.app.frontend_url ?? settings.app.url)
  // Without `app.environment`, svc is on loopback or refuses to start.
  const environment = settings.app.environment ?? 'development'
  const development = environment === 'development'
  const origins = { url: url.origin, frontend_url: frontend.origin }
  return {
    ...settings,
    ...resolveFeatures(settings, { ...origins, environment }),
    app: { ...settings.app, ...origins, secret: [settings.app.secret].flat(), environment },
    database: { ...settings.database, ...resolveDatabase(settings.database.url, cwd) },
    stateful: unique([...settings.stateful.map((entry) => entry.toLowerCase()), url.host]),
    session: {
      ...settings.session,
      secure: settings.session.secure === 'auto' ? url.protocol === 'https:' : settings.session.secure,
    },
    cors: { ...settings.cors, origins: settings.cors.origins?.map(originOf) ?? null },
    passwords: {
      ...settings.passwords,
      breached: { file: settings.passwords.breached.file && absolute(cwd, settings.passwords.breached.file) },
    },
    mail: resolveMail(settings.mail, cwd, development),
    audit: {
      ...settings.audit,
      export: settings.audit.export?.replace(/^file:(.+)$/, (_, path) => `file:${absolute(cwd, path)}`) ?? null,
    },
    links: resolveLinks(settings.links, frontend.origin),
    templates: {
      mail: settings.templates.mail && absolute(cwd, settings.templates.mail),
      pages: settings.templates.pages && absolute(cwd, settings.templates.pages),
    },
    i18n: resolveLanguages(settings, cwd),
    clients: settings.clients.map((client) => ({
      ...client,
      name: client.name ?? client.client_id,
      federated: client.federated.map((one) => ({ ...one, ca_file: one.ca_file && absolute(cwd, one.ca_file) })),
      cors_origins: unique((client.cors_origins ?? webUris(client.redirect_uris)).map(originOf)),
    })),
    oauth: { ...settings.oauth, audience: settings.oauth.audience ?? url.origin },
    guard: {
      ...settings.guard,
      diagnose: settings.guard.diagnose ?? development,
      rules: settings.guard.rules.map((rule, index) => ({ ...rule, place: placeOf(['guard', 'rules', index]) })),
    },
    samples: settings.samples ?? development,
    test_page: settings.test_page ?? development,
  }
}

function resolveLanguages({ i18n, theme }: Settings, cwd: string): Config['i18n'] {
  const directory = i18n.directory && absolute(cwd, i18n.directory)
  return {
    ...i18n,
    languages: unique(i18n.languages),
    directory,
    given: i18n.messages,
    messages: ownMessages({ ...i18n, directory }, theme.texts),
  }
}

/** Returns the engine and the absolute path of a database. */
export function resolveDatabase(url: string, cwd: string): Omit<Config['database'], 'prepared_statements'> {
  if (!url.startsWith('file:')) return { url, engine: 'postgresql', file: null }
  return { url, engine: 'sqlite', file: absolute(cwd, url.replace(/^file:(\/\/(?=\/))?/, '')) }
}

function resolveMail({ url, ...mail }: Settings['mail'], cwd: string, development: boolean) {
  const isNear = development || isLoopback(URL.parse(url)?.hostname ?? '')
  return {
    ...mail,
    url: url.replace(/^file:(.+)$/, (_, path) => `file:${absolute(cwd, path)}`),
    tls: mail.tls ?? (isNear ? 'opportunistic' : 'required'),
    ca_file: mail.ca_file && absolute(cwd, mail.ca_file),
  }
}

function resolveLinks(links: Settings['links'], frontend: string): Config['links'] {
  const fill = (template: string) => template.replaceAll('{frontend_url}', frontend)
  return {
    verify: fill(links.verify),
    reset: fill(links.reset),
    login: links.login && fill(links.login),
    register: links.register && fill(links.register),
    account: links.account && fill(links.account),
    two_factor: fill(links.two_factor),
    after_verify: fill(links.after_verify),
    help: links.help && fill(links.help),
    privacy: links.privacy && fill(links.privacy),
    terms: links.terms && fill(links.terms),
  }
}

function webUris(uris: readonly string[]): string[] {
  return uris.filter((uri) => /^https?:\/\//i.test(uri) && URL.canParse(uri))
}

/** Another rule reports invalid URLs. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

function unique<Value extends string>(values: readonly Value[]): Value[] {
  return [...new Set(values)]
}
