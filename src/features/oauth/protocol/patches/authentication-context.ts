import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { acrOf, askedContext, knownValues, toldAcr } from '../../authentication-context.ts'
import { requestFactsOf, type SignedIn } from '../browser.ts'
import { patch } from './patch.ts'

type Context = KoaContextWithOIDC['oidc'] & { ctx: KoaContextWithOIDC }

/**
 * Sets `acr` and `amr` from svc's session when a code is issued, so that older values in an interaction or in the
 * library's session have no effect.
 */
export function tellAuthentication(provider: Provider): void {
  define('amr', ({ methods }) => (methods.length > 0 ? [...methods] : undefined))
  define('acr', ({ methods }, { params = {} }) => toldAcr(acrOf(methods), askedContext(params)))

  function define(name: 'acr' | 'amr', tell: (signedIn: SignedIn, context: Context) => unknown): void {
    patch(
      provider,
      ['OIDCContext.prototype', name],
      "is what svc's own session has proved",
      () =>
        function proved(this: Context) {
          const { signedIn } = requestFactsOf(this.ctx.req)
          return signedIn ? tell(signedIn, this) : undefined
        },
    )
  }
}

/** Known values of `acr_values`, without duplicates. svc does not store unknown values with the request. */
export const settledAcrValues = (asked: string): string | undefined =>
  knownValues(asked.split(' ')).join(' ') || undefined
