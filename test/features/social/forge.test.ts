// engine: none
import t from 'tap'
import { buildSocial, callbackUri, failure, forgeAccounts, frontEnd, Visitor } from './visitor.ts'

t.test('supports GitHub: uses the primary address of the list if it is verified', async (t) => {
  const svc = await buildSocial(t)
  const smith = new Visitor(svc)
  const at = await smith.begin('github', { return_to: '/orders' })
  t.match(Object.fromEntries(at.searchParams), {
    client_id: 'svc-forge',
    redirect_uri: callbackUri('github'),
    response_type: 'code',
    state: /^.{32,}$/,
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
  })
  t.match(at.searchParams.get('scope'), 'user:email')
  const answer = await smith.back(await smith.allow(at, 'wayland'))
  t.equal(answer.headers.location, `${frontEnd}/orders`, answer.body)
  t.match(await smith.user(), { email: 'wayland@example.com', name: 'Wayland Smith', email_verified_at: String })
  const rows = await svc.database.prisma.socialAccount.findMany()
  t.match(rows, [
    { provider: 'github', issuer: svc.forge.url, providerId: '4711', email: 'wayland@example.com', tokens: null },
  ])
  const [token] = svc.forge.callsTo('/login/oauth/access_token')
  t.match(token?.headers.accept, 'application/json')
  t.ok(token?.form.get('code_verifier'))
  for (const path of ['/user', '/user/emails']) {
    t.match(svc.forge.callsTo(path)[0]?.headers.authorization, /^(Bearer|token) gho_/, path)
  }
  const again = new Visitor(svc)
  await again.signIn('wayland', 'github')
  t.equal((await again.user())?.id, (await smith.user())?.id)
})

t.test('neither creates nor links an account by an unverified address', async (t) => {
  const svc = await buildSocial(t)
  t.equal(failure(await new Visitor(svc).signIn('hasty', 'github')), 'email_unverified')
  await svc.createUser({ email: 'hasty@example.com' })
  t.equal(failure(await new Visitor(svc).signIn('hasty', 'github')), 'account_exists')
  await svc.createUser({ email: 'public@example.com' })
  const smith = new Visitor(svc)
  await smith.signIn('wayland', 'github')
  t.match(await smith.user(), { email: 'wayland@example.com' }, 'not that of the profile')
  await svc.createUser({ email: 'old@example.com' })
  const other = structuredClone(forgeAccounts.wayland)
  if (!other?.emails) throw new Error('The account is missing.')
  other.profile.id = 99
  other.emails = [{ email: 'old@example.com', primary: false, verified: true }]
  svc.forge.accounts.set('other', other)
  t.ok(failure(await new Visitor(svc).signIn('other', 'github')), 'not the primary one')
  t.equal(await svc.database.prisma.user.count(), 4)
})

t.test('links a verified address to a verified account', async (t) => {
  const svc = await buildSocial(t)
  const { id } = await svc.createUser({ email: 'wayland@example.com' })
  const smith = new Visitor(svc)
  await smith.signIn('wayland', 'github')
  t.equal((await smith.user())?.id, id)
})

t.test('rejects errors with status 200, and other invalid responses', async (t) => {
  const svc = await buildSocial(t)
  const answers: [string, string, (response: import('node:http').ServerResponse) => void][] = [
    ['/login/oauth/access_token', 'an error', (response) => response.end('{"error":"bad_verification_code"}')],
    ['/login/oauth/access_token', 'a form', (response) => response.end('access_token=x&token_type=bearer')],
    ['/login/oauth/access_token', 'no token', (response) => response.end('{"token_type":"bearer"}')],
    ['/login/oauth/access_token', 'a number', (response) => response.end('{"access_token":1,"token_type":"bearer"}')],
    ['/login/oauth/access_token', 'cut off', (response) => response.destroy()],
    ['/user', 'unknown', (response) => response.end('{}')],
    ['/user', 'a null id', (response) => response.end('{"id":null}')],
    ['/user', 'an empty id', (response) => response.end('{"id":""}')],
    ['/user', 'an object as id', (response) => response.end('{"id":{"a":1}}')],
    ['/user', 'an inexact number', (response) => response.end('{"id":1e300}')],
    ['/user', 'a list', (response) => response.end('[]')],
    ['/user', 'text', (response) => response.end('Hello')],
    ['/user', 'nothing', (response) => response.end()],
    ['/user', 'an error', (response) => response.writeHead(403).end('{"message":"rate limit"}')],
    ['/user/emails', 'no list', (response) => response.end('{"message":"Not Found"}')],
    ['/user/emails', 'an error', (response) => response.writeHead(404).end('{}')],
    [
      '/user/emails',
      'an empty list',
      (response) => response.end('[null,1,{},{"email":7,"primary":true,"verified":true}]'),
    ],
    [
      '/user/emails',
      'verified as text',
      (response) => response.end('[{"email":"a@example.com","primary":true,"verified":"yes"}]'),
    ],
  ]
  for (const [path, name, answer] of answers) {
    svc.forge.instead.set(path, (response) => {
      response.setHeader('content-type', 'application/json')
      answer(response)
    })
    const visitor = new Visitor(svc)
    const told = failure(await visitor.signIn('wayland', 'github'))
    t.ok(['provider_error', 'email_missing', 'email_unverified'].includes(String(told)), `${path}: ${name}: ${told}`)
    t.equal(await visitor.user(), null)
    svc.forge.instead.clear()
  }
  t.equal(await svc.database.prisma.user.count(), 0)
  const ids = ['1', ' 1', '01', 1]
  for (const [index, id] of ids.entries()) {
    const profile = { id, login: 'x' }
    svc.forge.accounts.set('x', {
      profile,
      emails: [{ email: `x${index}@example.com`, primary: true, verified: true }],
    })
    await new Visitor(svc).signIn('x', 'github')
  }
  t.equal(await svc.database.prisma.user.count(), 3, 'ids are compared as text, 1 and "1" alike')
})

t.test('reports a denial at the provider', async (t) => {
  const svc = await buildSocial(t)
  const smith = new Visitor(svc)
  t.equal(failure(await smith.back(await smith.allow(await smith.begin('github'), 'wayland', 'deny'))), 'access_denied')
  const back = await smith.allow(await smith.begin('github'), 'wayland')
  back.searchParams.set('iss', 'https://github.example/login/oauth')
  t.equal((await smith.back(back)).headers.location, `${frontEnd}/`, 'an issuer is ignored in plain OAuth 2.0')
})

t.test('supports a provider by its endpoints and fields alone', async (t) => {
  const svc = await buildSocial(t)
  const fields = { id: 'account.uid', email: 'mail', email_verified: 'mail_ok', name: 'full_name' }
  const forge = { ...svc.forge.settings, scopes: ['user', 'mail'], map: fields, label: 'The Forge' }
  const profile = { account: { uid: 'u-7' }, mail: 'weyland@example.com', mail_ok: true, full_name: 'W. Smith' }
  for (const [trust_email, told] of [
    [true, null],
    [false, 'email_unverified'],
    [undefined, 'email_unverified'],
  ] as const) {
    const own = await buildSocial(t, {
      settings: { app: { frontend_url: frontEnd }, social: { smithy: { ...forge, trust_email } } },
    })
    t.same((await own.app.inject('/auth/providers')).json(), [{ id: 'smithy', label: 'The Forge' }])
    svc.forge.accounts.set('weyland', { profile, emails: [] })
    const smith = new Visitor(own)
    t.equal(failure(await smith.signIn('weyland', 'smithy')), told, `trust_email: ${trust_email}`)
    if (told === null) {
      t.match(await smith.user(), { email: 'weyland@example.com', name: 'W. Smith' })
      t.match(await own.database.prisma.socialAccount.findMany(), [{ providerId: 'u-7' }])
    }
  }
})

t.test('stores tokens on request, encrypted', async (t) => {
  const svc = await buildSocial(t, { github: { store_tokens: true }, acme: { store_tokens: true } })
  await new Visitor(svc).signIn('wayland', 'github')
  await new Visitor(svc).signIn('grace')
  const rows = await svc.database.prisma.socialAccount.findMany()
  t.equal(rows.length, 2)
  for (const { tokens } of rows) {
    t.ok(tokens)
    t.notMatch(tokens, /gho_|access|token/)
  }
  t.not(rows[0]?.tokens, rows[1]?.tokens)
})
