// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { oauthSettings, Person, redeem, request, response } from '../../../support/oauth.ts'

const grace = { name: 'Grace Hopper', email: 'grace@example.com', password: 'compilers are useful' }
const query = { ...request('web', { scope: 'openid email' }), prompt: 'create' }

t.test('shows the registration page first with prompt=create, and continues with the new account', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const person = new Person(svc, grace.email)
  const page = await person.authorize({ ...query, login_hint: grace.email })
  t.equal(page.page, 'Create an account')
  t.match(page.answer.body, `value="${grace.email}"`, 'prefilled with the hint')
  const answer = response(await person.decide(await person.press(page, grace)))
  const tokens = (await redeem(svc, 'web', answer.code ?? '')).json()
  const user = await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')
  t.match(user.json(), { sub: '1' })
})

t.test('continues with prompt=create after a sign-in with an existing account', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const page = await person.authorize(query)
  const href = /href="([^"]+)" id="login"/.exec(page.answer.body)?.[1] ?? ''
  const signIn = await person.go(href.replaceAll('&amp;', '&'))
  t.equal(signIn.page, 'Sign in')
  t.ok(response(await person.decide(signIn)).code)
  t.ok(response(await person.decide(await person.authorize(query))).code, 'a signed-in user keeps the account')
})

t.test('publishes the prompts, and rejects prompt=create where users cannot register', async (t) => {
  for (const enabled of [true, false]) {
    const svc = await buildTestApp(t, { settings: { ...oauthSettings, registration: { enabled } } })
    const metadata = (await svc.app.inject('/.well-known/openid-configuration')).json()
    t.equal(metadata.prompt_values_supported.includes('create'), enabled)
    t.ok(metadata.prompt_values_supported.includes('none'))
    const person = new Person(svc, 'ada@example.com')
    if (!enabled) t.match(response(await person.authorize(query)), { error: 'invalid_request' })
    const both = { ...query, prompt: 'none create' }
    t.match(response(await person.authorize(both)), { error: 'invalid_request' })
  }
})
