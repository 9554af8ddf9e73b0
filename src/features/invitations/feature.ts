import type { Feature } from '../../feature.ts'
import { pruneInvitations } from '../../users/invitations.ts'

export const invitationFeature = { prune: pruneInvitations } satisfies Feature
