import { join } from 'node:path'
import { isHeldByTerms } from '../../auth/access/accepted-terms.ts'
import type { Feature } from '../../contract/feature.ts'
import { termsPage } from '../../pages/links.ts'

export const termsFeature = {
  routes: [() => import('./routes.ts'), () => import('./page-routes.ts')],
  errors: {
    terms_not_accepted: {
      status: [403, 422],
      meaning: 'The user has not accepted the current version of the terms in `terms`.',
      remedy:
        'Show the terms of `GET /terms`. Accept them with `POST /user/terms`, or with `terms` in `POST /svc/token`.',
    },
  },
  offers: [
    {
      cookie: null,
      isFor: async ({ app, caller }) => isHeldByTerms(app.config.current(), caller),
      part: { template: join(import.meta.dirname, 'pages', 'offer.eta'), data: { termsHref: termsPage } },
    },
  ],
} satisfies Feature
