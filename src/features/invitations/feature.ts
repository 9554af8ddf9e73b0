import type { Feature } from '../../contract/feature.ts'
import { pruneInvitations } from '../../identity/invitations.ts'

export const invitationFeature = { prune: pruneInvitations } satisfies Feature
