// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hiddenFields, oauthSettings, Person, request } from '../../support/oauth.ts'
import { credentials, nextAddress } from '../../support/plain.ts'

t.test(
  'shows all pages of an authorization in the language of ui_locales, or the one that the visitor chooses',
  async (t) => {
    const svc = await buildTestApp(t, { settings: oauthSettings })
    const { email } = await svc.createUser()
    const person = new Person(svc, email)
    const signIn = await person.authorize({
      ...request('web', { scope: 'openid email' }),
      ui_locales: 'x-y sv de-AT fr',
    })
    t.equal(signIn.page, 'Anmelden')
    const refused = await person.press(signIn, { ...credentials(email), password: 'wrong' })
    t.match(refused.answer.body, 'E-Mail-Adresse oder Passwort ist falsch.')
    const consent = await person.press(signIn, credentials(email))
    t.equal(consent.page, 'Zugriff zulassen')
    t.match(consent.answer.body, 'möchte auf Ihr Konto zugreifen')

    const { _token = '' } = hiddenFields(consent.answer.body)
    const form = { _token, language: 'fr', return_to: consent.path }
    t.equal(nextAddress(await person.plain.post('/oauth/language', form)), consent.path)
    t.equal((await person.go(consent.path)).page, 'Autoriser', 'the choice replaces ui_locales')
    t.equal((await person.go('/')).page, 'Votre compte')

    const other = new Person(svc, email)
    await other.authorize({ ...request('web'), ui_locales: 'de' })
    t.equal((await other.go('/oauth/login')).page, 'Anmelden')
    t.equal((await other.authorize(request('web'))).page, 'Sign in', 'the next authorization does not ask for German')
    t.equal((await other.authorize({ ...request('web'), ui_locales: '<script>' })).page, 'Sign in')
  },
)
