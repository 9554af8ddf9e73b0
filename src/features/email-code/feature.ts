import { join } from 'node:path'
import { deleteCodesOf, pruneCodes } from '../../auth/sign-in/login-code-store.ts'
import { requestCodePath } from '../../auth/sign-in/login-codes.ts'
import type { Feature } from '../../contract/feature.ts'

export const emailCodeFeature = {
  routes: [() => import('./routes.ts'), () => import('./pages/routes.ts')],
  tokenProof: async () => (await import('./token-proof.ts')).emailCodeProof,
  deleteDataOf: deleteCodesOf,
  prune: pruneCodes,
  signInPage: {
    part: ({ login }) => ({
      template: login.email_code ? join(import.meta.dirname, 'pages', 'login.eta') : null,
      data: { emailCode: login.email_code, emailCodeAction: requestCodePath },
    }),
  },
} satisfies Feature
