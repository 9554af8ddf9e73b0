import type { Feature } from '../../contract/feature.ts'
import { pruneInvitations } from '../../identity/invitations.ts'

export const invitationFeature = {
  routes: [() => import('./routes.ts')],
  prune: pruneInvitations,
} satisfies Feature
