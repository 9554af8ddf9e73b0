import type { Feature } from '../../contract/feature.ts'
import { alertOf, confirmPart, signInPart } from './buttons.ts'
import { socialErrors } from './failure.ts'
import { invitationAlert, invitationPart } from './invitation/part.ts'
import { deleteLinksOf, hasLink, listLinks } from './store.ts'

export const socialFeature = {
  routes: [() => import('./routes.ts')],
  services: async (app) => (await import('./decorate.ts')).addSocialSignIn(app),
  tokenProof: async () => (await import('./mobile.ts')).providerProof,
  accountPages: ({ social }) => (Object.keys(social).length > 0 ? ['providers'] : []),
  accountStates: async ({ app }, { id }) => ({ providers: (await listLinks(app.database, id)).length }),
  confirmationPage: confirmPart,
  errors: socialErrors,
  exportData: async ({ database }, userId) => ({ linked_accounts: await listLinks(database, userId) }),
  wayIn: {
    isOpen: (tx, { social }, userId) => hasLink(tx, userId, Object.keys(social)),
    remove: deleteLinksOf,
  },
  invitationPage: { part: invitationPart, alert: invitationAlert },
  registrationPage: (config, { returnTo }) => signInPart(config, { returnTo, isReauthentication: false }),
  signInPage: { part: signInPart, alert: alertOf },
} satisfies Feature
