// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'

const german = { 'accept-language': 'de-CH, en;q=0.5' }
const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

const storedLanguage = (svc: TestApp, id: number, language: string | null) =>
  svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { language } })

t.test('sends mails in the language of the recipient, or of the request that caused them', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null } } })
  const user = await svc.createUser()
  const subjectAfter = async (language: string | null, headers: Record<string, string>) => {
    await storedLanguage(svc, user.id, language)
    svc.clock.advance(3_600_000)
    const browser = new Browser(svc.app)
    await browser.get('/svc/csrf-cookie')
    const answer = await browser.post('/forgot-password', { email: user.email }, headers)
    t.equal(answer.statusCode, 200)
    return (await svc.mailbox.to(user.email)).at(-1)
  }
  t.match(await subjectAfter(null, german), {
    subject: 'Passwort zurücksetzen',
    text: /60 Minuten gültig/,
    html: /<html lang="de" dir="ltr">[\s\S]+Neues Passwort wählen/,
  })
  t.match(await subjectAfter('ar', german), { html: /<html lang="ar" dir="rtl">/ })
  t.match(await subjectAfter(null, {}), { subject: 'Reset your password' })
  t.match(await subjectAfter('xx', german), { subject: 'Reset your password' }, 'an unknown language')
})

t.test('writes dates in notices in the language of the recipient', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  await storedLanguage(svc, user.id, 'de')
  const browser = new Browser(svc.app, { known: false })
  await browser.get('/svc/csrf-cookie')
  await browser.post('/login', { email: user.email, password: 'correct horse' }, firefox)
  const [mail] = await svc.mailbox.to(user.email)
  t.equal(mail?.subject, 'Neue Anmeldung bei Ihrem Konto')
  t.match(mail?.text, 'Wann: 20. November 2026 um 12:00 UTC')
  t.match(mail?.text, 'Browser oder App: Firefox unter Linux')
})
