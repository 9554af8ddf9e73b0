import Provider from 'oidc-provider'
import { claimsAbout } from '../../../../identity/claims.ts'
import { decidedClaims } from '../token-decision.ts'
import type { ClaimParts } from '../user-claims.ts'
import { patch } from './patch.ts'

/** ID token, before the library signs it. */
interface IdToken {
  available: { sub?: string }
  client: { clientId: string }
  set(name: string, value: unknown): void
}

/** Adds the claims to ID tokens that the configuration lists for the client, and those of the hook before_token. */
export function addClaimsToIdTokens(provider: Provider, { config, registry, lookups }: ClaimParts): void {
  patch<(this: IdToken, options?: { use?: string }) => Promise<string>>(
    provider,
    ['IdToken.prototype', 'issue'],
    'adds the claims of the client to ID tokens',
    (issue) =>
      async function issueWithClaims(this: IdToken, options?: { use?: string }) {
        const names = registry.client(this.client.clientId)?.claims ?? []
        if (options?.use !== 'idtoken') return issue.call(this, options)
        for (const [name, value] of Object.entries(decidedClaims(Provider.ctx))) this.set(name, value)
        if (names.length === 0) return issue.call(this, options)
        const user = await lookups.user(BigInt(this.available.sub ?? 0))
        for (const [name, value] of Object.entries(user ? claimsAbout(user, config, names) : {})) this.set(name, value)
        return issue.call(this, options)
      },
  )
}
