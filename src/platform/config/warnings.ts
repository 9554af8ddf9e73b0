import { isShownText, textsWithPaths } from './own-messages.ts'
import { templateWarnings } from './own-templates.ts'
import { type Config, rootSchema } from './schema.ts'

/** Returns warnings about valid values that are probably mistakes. */
export const warningsOf = (config: Config): string[] => [
  ...portWarnings(config),
  ...credentialWarnings(config),
  ...logoWarnings(config),
  ...messageWarnings(config),
  ...templateWarnings(config),
]

/** A changed port needs a matching `app.url`; otherwise links and same-origin pages break. */
function portWarnings({ app, server }: Config): string[] {
  if (app.url !== rootSchema.properties?.app?.properties?.url?.default || server.port === 0) return []
  if (String(server.port) === new URL(app.url).port) return []
  return [`app.url is ${app.url}, but svc listens on port ${server.port}; set app.url (SVC_URL) to the public address`]
}

/** Characters that break when a client does not encode its credentials for HTTP Basic. */
function credentialWarnings({ clients }: Config): string[] {
  return clients.flatMap(({ client_id, secret }, index) =>
    Object.entries({ client_id, secret: [secret ?? ''].flat().join('') })
      .filter(([, text]) => secret !== undefined && /[^\w.~-]/.test(text))
      .map(
        ([key]) =>
          `clients[${index}].${key} (client "${client_id}") contains reserved characters. Many clients send them ` +
          'unencoded in HTTP Basic and are rejected. Use letters, digits, "-", ".", "_" and "~" only; ' +
          'svc client:secret prints such a secret.',
      ),
  )
}

/** A relative path would lead to a different URL on each page. */
const logoWarnings = ({ theme: { logo } }: Config): string[] =>
  logo === null || logo.startsWith('/') || URL.canParse(logo)
    ? []
    : [`theme.logo is ${JSON.stringify(logo)}; use a URL such as https://cdn.example.com/logo.svg, or a data: URL`]

/** Texts that no page and no mail uses. */
const messageWarnings = (config: Config): string[] =>
  textsWithPaths(config)
    .filter(({ name }) => !isShownText(name, config))
    .map(
      ({ place, name }) => `${place} contains the unknown text ${name}${name === 'lang' ? '; set i18n.default' : ''}`,
    )
