import { join } from 'node:path'
import type { Feature } from '../../feature.ts'
import { deleteCodesOf, pruneCodes } from '../../login/login-code-store.ts'
import { requestCodePath } from '../../login/login-codes.ts'

export const emailCodeFeature = {
  deleteDataOf: deleteCodesOf,
  prune: pruneCodes,
  signInPage: {
    part: ({ login }) => ({
      template: login.email_code ? join(import.meta.dirname, 'pages', 'login.eta') : null,
      data: { emailCode: login.email_code, emailCodeAction: requestCodePath },
    }),
  },
} satisfies Feature
