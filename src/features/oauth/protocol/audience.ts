import type { Config } from '../../../config/schema.ts'
import type { RegisteredClient } from './clients.ts'

/** Audience of a client's tokens: its own or the configured one. */
export const audienceOf = (config: Config, client: RegisteredClient | undefined): string =>
  client?.audience ?? config.oauth.audience

/** Resource URI that represents an audience in the library (RFC 8707). */
export const resourceOf = (audience: string): string =>
  URL.canParse(audience) ? audience : `urn:svc:audience:${encodeURIComponent(audience)}`
