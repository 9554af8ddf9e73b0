import type { Feature } from '../../contract/feature.ts'
import { SitePermission } from './site-permission.ts'
import { pruneBindings } from './store.ts'

export const boundSessionFeature = {
  services: async (app) => {
    app.boundSessions.isPermitted = new SitePermission(app).isGiven
  },
  routes: [() => import('./routes.ts')],
  prune: pruneBindings,
  errors: {
    session_unbound: {
      status: [401, 403],
      meaning:
        'The session is bound to a key, or must be, and the browser has not proved that it has the key. 403: a rule of the guard requires a bound session or token.',
      remedy: 'Browsers prove it by themselves: repeat the request. In another browser, sign in again.',
    },
    invalid_binding_proof: {
      status: 400,
      meaning: 'The proof of a bound session is missing, or another key signed it.',
      remedy: 'Only browsers call this route, after a sign-in.',
    },
    binding_challenge: {
      status: 403,
      meaning: 'A bound session needs a new proof.',
      remedy: 'Browsers sign the challenge in `Secure-Session-Challenge` by themselves.',
    },
    already_bound: {
      status: 409,
      meaning: 'The session is bound to a key already, or has ended.',
      remedy: 'Sign in again to bind a new session.',
    },
  },
} satisfies Feature
