// engine: none
import t from 'tap'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'

/** The code with the digits of another script, by their zero. */
const inScript = (code: string, zero: string): string =>
  code.replaceAll(/\d/g, (digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(digit)))

const zeros = { Arabic: '٠', Persian: '۰', 'full-width': '０' }

t.test('accepts a mailed code as the subject of an Arabic mail shows it', async (t) => {
  const svc = await buildTestApp(t, { settings: { login: { email_code: true }, rate_limits: { mail: null } } })
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  await browser.post('/login/email-code', { email }, { 'accept-language': 'ar' })
  const [mail] = await svc.mailbox.to(email)
  const [shown = ''] = /\u2068\d{3} \d{3}\u2069/.exec(mail?.subject ?? '') ?? []
  t.not(shown, '', 'the subject has the code')
  const answer = await browser.post('/login/email-code/verify', { code: shown })
  t.equal(answer.statusCode, 200, answer.body)
})

for (const [script, zero] of Object.entries(zeros)) {
  t.test(`accepts ${script} digits in the codes of apps and mails`, async (t) => {
    const svc = await buildTestApp(t, { settings: { login: { email_code: true }, rate_limits: { mail: null } } })
    const ada = await enableTwoFactor(svc)
    const spa = await challenged(svc, ada.email)
    const proved = await spa.post('/two-factor-challenge', { code: inScript(ada.code(), zero) })
    t.equal(proved.statusCode, 204, proved.body)

    const { email, id } = await svc.createUser()
    const visitor = svc.browser()
    await visitor.get('/svc/csrf-cookie')
    await visitor.post('/login/email-code', { email })
    const signInCode = await svc.mailbox.find(email, /^(\d{3} \d{3})\r?$/m)
    const signedIn = await visitor.post('/login/email-code/verify', { code: inScript(signInCode, zero) })
    t.equal(signedIn.statusCode, 200, signedIn.body)

    await removePassword(svc, id)
    await visitor.post('/user/confirmation-code')
    const code = await svc.mailbox.find(email, /^([2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4})\r?$/m)
    const confirmed = await visitor.post('/user/confirm-password', { code: inScript(code, zero) })
    t.equal(confirmed.statusCode, 201, confirmed.body)
  })
}
