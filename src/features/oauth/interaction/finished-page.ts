import { startPage } from '../../../pages/links.ts'
import type { PageData } from '../../../pages/page-data.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'
import type { RegisteredClient } from '../clients/clients.ts'

declare module 'fastify' {
  interface Session {
    /** The authorization that the user last approved, so that its page can lead back to the application. */
    answeredAuthorization?: { uid: string; clientId: string }
  }
}

/** The page of an authorization that is finished for a client, or expired (no client). */
export function finishedPage(
  config: Config,
  text: TextLookup,
  client: RegisteredClient | undefined,
): PageData['error'] {
  const about = client ? 'finished' : 'expired'
  const name = client?.name ?? client?.client_id ?? ''
  const home = originOf(client?.redirect_uris[0])
  return {
    heading: text(`interaction.${about}`),
    texts: [text(`interaction.${about}_text`, { client: name })],
    link: home === null ? null : { href: home, label: text('login.continue', { application: name }) },
    homeHref: startPage(config),
  }
}

/** The start page of an application on the web; null for an app on a device. */
function originOf(uri: string | undefined): string | null {
  if (uri === undefined || !URL.canParse(uri)) return null
  const { protocol, origin } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? origin : null
}
