import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthClientInformation, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'

/** What an MCP client of the official SDK stores for one server. */
export class McpAgent implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly clientMetadataUrl?: string
  /** Where the client sent the browser last. */
  url = new URL('http://localhost')
  #client: OAuthClientInformation | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''

  constructor(redirectUrl: string, { document, clientId }: { document?: string; clientId?: string }) {
    this.redirectUrl = redirectUrl
    if (document !== undefined) this.clientMetadataUrl = document
    if (clientId !== undefined) this.#client = { client_id: clientId }
  }

  get clientMetadata() {
    return {
      client_name: 'TypeScript agent',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    }
  }

  clientInformation = (): OAuthClientInformation | undefined => this.#client

  saveClientInformation = (client: OAuthClientInformation): void => {
    this.#client = client
  }

  tokens = (): OAuthTokens => this.#tokens as OAuthTokens

  saveTokens = (tokens: OAuthTokens): void => {
    this.#tokens = tokens
  }

  redirectToAuthorization = (url: URL): void => {
    this.url = url
  }

  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier
  }

  codeVerifier = (): string => this.#verifier
}
