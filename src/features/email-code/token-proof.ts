import { emailCodeMethod } from '../../auth/sign-in/authentication-methods.ts'
import { challengeTokenField, type TokenProof, tokenProof } from '../../auth/tokens/first-factor.ts'
import { validationFailed } from '../../platform/errors.ts'
import { nullableText } from '../../platform/http/fields.ts'
import { wrongCode } from './wrong-code.ts'

/** Holder of a code that an app requested. No session id has this form. */
export const appHolder = (challengeToken: string): string => `app ${challengeToken}`

/** The proof of an app whose user entered a mailed code. */
export const emailCodeProof: TokenProof = tokenProof({
  name: 'email_code',
  fields: {
    email_code: nullableText('The six digits of the mail from `POST /svc/email-code`.', { maxLength: 32 }),
    challenge_token: challengeTokenField,
  },
  required: ['challenge_token'],
  verify: async (visit, { email_code, challenge_token }) => {
    const app = visit.app
    const holder = appHolder(challenge_token ?? '')
    const isEnabled = app.config.current().login.email_code
    const proved = isEnabled ? await app.loginCodes.verify(visit, { holder, code: email_code ?? '' }) : null
    if (!proved) throw validationFailed({ email_code: [wrongCode] })
    return { user: proved.user, password: proved.password, method: emailCodeMethod, channel: 'email_code' }
  },
})
