import type { Feature } from '../../feature.ts'
import { socialErrors } from './failure.ts'
import { alertOf, signInPart } from './sign-in-page.ts'
import { deleteLinksOf, hasLink } from './store.ts'

export const socialFeature = {
  errors: socialErrors,
  wayIn: {
    isOpen: (tx, { social }, userId) => hasLink(tx, userId, Object.keys(social)),
    remove: deleteLinksOf,
  },
  signInPage: { part: signInPart, alert: alertOf },
} satisfies Feature
