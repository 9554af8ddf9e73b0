// engine: none
import t from 'tap'
import { buildSocial, failure, type Social, Visitor } from './visitor.ts'

/** The reason in the last log line about a failed sign-in. */
const reasonIn = ({ logs }: Social): string | null =>
  logs.map((line) => JSON.parse(line)).findLast(({ msg }) => msg === 'social login failed')?.reason

t.test('takes the verification of an address from the user info if the ID token lacks it', async (t) => {
  const svc = await buildSocial(t)
  svc.acme.changeIdToken((claims) => ({ ...claims, email: 'grace@example.com', name: 'Grace' }))
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  t.match(await grace.user(), { email: 'grace@example.com', name: 'Grace' })
  svc.acme.changeIdToken((claims) => ({ ...claims, email: 'root@example.com', name: 'Alan' }))
  t.equal(failure(await new Visitor(svc).signIn('alan')), 'email_unverified', 'but not for another address')
  t.equal(reasonIn(svc), 'the claim email_verified is missing')
  svc.acme.changeIdToken((claims) => ({ ...claims, email: 'alan@example.com', email_verified: false }))
  t.equal(failure(await new Visitor(svc).signIn('alan')), 'email_unverified', 'and not against the ID token')
})

t.test('asks the user info if the ID token has an empty address', async (t) => {
  for (const email of [null, '']) {
    const svc = await buildSocial(t)
    svc.acme.changeIdToken((claims) => ({ ...claims, email, name: 'Grace' }) as typeof claims)
    const grace = new Visitor(svc)
    await grace.signIn('grace')
    t.match(await grace.user(), { email: 'grace@example.com' }, JSON.stringify(email))
  }
})

t.test('signs known users in while the user info refuses, and names its error for new ones', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  for (const status of [400, 403, 404, 500, 503]) {
    const body = JSON.stringify({ error: 'insufficient_scope' })
    svc.acme.instead.set('/me', ({ headers }) => ({ status, headers, body }))
    const again = new Visitor(svc)
    await again.signIn('grace')
    t.equal((await again.user())?.email, 'grace@example.com', `${status}`)
    t.equal(failure(await new Visitor(svc).signIn('alan')), 'provider_error')
    const reason = `the claim email is missing, and the user info endpoint returned ${status}: insufficient_scope`
    t.equal(reasonIn(svc), reason)
  }
})

t.test('reads a signed user info, and checks its signature', async (t) => {
  const svc = await buildSocial(t)
  svc.acme.signUserinfo()
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  t.match(await grace.user(), { email: 'grace@example.com' })
  svc.acme.signUserinfo('another key')
  t.equal(failure(await new Visitor(svc).signIn('alan')), 'provider_error')
})

t.test('fetches the keys again for a token without a key id', async (t) => {
  const svc = await buildSocial(t)
  const publishFirst = await svc.acme.rotateKey(null)
  publishFirst()
  await new Visitor(svc).signIn('grace')
  const fetched = svc.acme.callsTo('/jwks').length
  const publish = await svc.acme.rotateKey(null)
  publish()
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  t.equal((await grace.user())?.email, 'grace@example.com')
  t.equal(svc.acme.callsTo('/jwks').length, fetched + 1)
  await svc.acme.rotateKey(null)
  t.equal(failure(await new Visitor(svc).signIn('grace')), 'provider_error', 'a key that is not published')
  t.equal(svc.acme.callsTo('/jwks').length, fetched + 2, 'once for each token')
})

t.test('logs the own error of a provider, also from a response with status 200', async (t) => {
  const svc = await buildSocial(t)
  const json = (body: object, status = 200) => ({ body: JSON.stringify(body), status })
  const answers: [object: { body: string; status: number }, code: string, logged: RegExp][] = [
    [
      json({ error: 'incorrect_client_credentials', error_description: 'secret text' }),
      'provider_error',
      /incorrect_client_credentials$/,
    ],
    [json({ ok: false, error: 'invalid_code' }), 'provider_error', /invalid_code$/],
    [
      json({ error: { message: 'secret text', type: 'OAuthException', code: 190 } }, 400),
      'provider_error',
      /OAuthException 190$/,
    ],
    [json({ title: 'Client Forbidden', reason: 'client-not-enrolled' }, 403), 'provider_error', /Client Forbidden$/],
    [json({ error: 'unverified_user_email' }), 'email_unverified', /unverified_user_email$/],
    [json({ errors: [{ title: 'Unauthorized' }] }, 401), 'provider_error', /Unauthorized$/],
  ]
  for (const [{ body, status }, code, logged] of answers) {
    svc.forge.instead.set('/login/oauth/access_token', (response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    t.equal(failure(await new Visitor(svc).signIn('wayland', 'github')), code, body)
    t.match(reasonIn(svc), logged)
    t.notMatch(svc.logs.join(), 'secret text')
  }
  svc.forge.instead.clear()
  svc.forge.instead.set('/user', (response) => {
    response
      .writeHead(403, { 'content-type': 'application/json' })
      .end('{"title":"Client Forbidden","reason":"no-plan"}')
  })
  await new Visitor(svc).signIn('wayland', 'github')
  t.match(reasonIn(svc), /the profile endpoint returned 403 Client Forbidden/)
})

t.test('reads error callbacks without a state', async (t) => {
  const svc = await buildSocial(t)
  const cases = [
    ['error=access_denied', 'access_denied', /access_denied/],
    ['error=user_cancelled_login', 'access_denied', /user_cancelled_login/],
    ['error=server_error', 'provider_error', /server_error/],
    ['error_code=1349048&error_message=x', 'provider_error', /error_code 1349048/],
    ['error=%3Cscript%3E', 'provider_error', /^((?!script).)*$/],
    ['code=x', 'invalid_state', null],
    ['error=access_denied&state=unknown', 'invalid_state', null],
  ] as const
  for (const [query, code, logged] of cases) {
    t.equal(failure(await new Visitor(svc).open(`/auth/acme/callback?${query}`)), code, query)
    if (logged) t.match(reasonIn(svc), logged)
    else t.equal(reasonIn(svc), null)
  }
})

t.test('goes on if a signed-in browser opens an old callback', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  const back = await grace.allow(await grace.begin(), 'grace')
  await grace.back(back)
  t.match(await grace.user(), { email: 'grace@example.com' })
  const again = await grace.back(back)
  t.equal(again.statusCode, 302)
  t.equal(again.headers.location, 'http://localhost:5173')
  t.match(await grace.user(), { email: 'grace@example.com' }, 'the session stays')
  t.equal(failure(await new Visitor(svc).back(back)), 'invalid_state', 'a guest is told')
})

t.test('keeps the name that a provider sends only once', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  svc.acme.changeUserinfo(({ name: _, ...claims }) => claims)
  await new Visitor(svc).signIn('grace')
  t.match(await svc.database.prisma.socialAccount.findFirstOrThrow(), { name: 'Grace Acme' })
})
