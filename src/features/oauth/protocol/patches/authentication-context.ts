import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { acrOf, askedContext, knownValues, toldAcr } from '../../authentication-context.ts'
import { handedOf, type SignedIn } from '../browser.ts'
import { patch } from './patch.ts'

type Context = KoaContextWithOIDC['oidc'] & { ctx: KoaContextWithOIDC }

/**
 * Makes `acr` and `amr` what svc's own session has proved at the moment in which a code is issued: nothing that an
 * interaction or the library's session remembers can claim more.
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
          const { signedIn } = handedOf(this.ctx.req)
          return signedIn ? tell(signedIn, this) : undefined
        },
    )
  }
}

/** The known values of `acr_values`, without repeats: what svc does not know is not stored with the request. */
export const settledAcrValues = (asked: string): string | undefined =>
  knownValues(asked.split(' ')).join(' ') || undefined
