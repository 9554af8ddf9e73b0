// engine: none
import { createHmac } from 'node:crypto'
import t from 'tap'
import { OidcProvider } from '../../support/oidc-provider.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, callbackUri, failure, frontEnd, link, list, type Social, Visitor } from './visitor.ts'

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Replaces the ID token of each response, given its claims. */
function forge({ acme }: Social, make: (claims: object) => string): void {
  acme.instead.set('/token', (answer) => {
    const body = JSON.parse(String(answer.body))
    const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString())
    return { ...answer, body: JSON.stringify({ ...body, id_token: make(claims) }) }
  })
}

const hmac = (header: object, claims: object, secret: string): string => {
  const text = `${base64url(header)}.${base64url(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

t.test('rejects forged ID tokens, whatever algorithms the discovery document names', async (t) => {
  for (const algorithms of [['none', 'HS256', 'ES256'], []]) {
    const svc = await buildSocial(t, { isDown: true })
    svc.acme.isUp = true
    svc.acme.instead.set('/.well-known/openid-configuration', (answer) => {
      const metadata = { ...JSON.parse(String(answer.body)), id_token_signing_alg_values_supported: algorithms }
      return { ...answer, body: JSON.stringify(metadata) }
    })
    const keys = await (await fetch(`${svc.acme.issuer}/jwks`)).text()
    const [key] = JSON.parse(keys).keys
    const secrets = [svc.acme.settings.client_secret, keys, JSON.stringify(key), key.x, key.kid, '']
    const headers = [{ alg: 'HS256' }, { alg: 'HS256', kid: key.kid }, { alg: 'HS256', jwk: key }]
    for (const [index, secret] of secrets.entries()) {
      for (const header of headers) {
        forge(svc, (claims) => hmac(header, claims, secret))
        t.equal(failure(await new Visitor(svc).signIn('grace')), 'provider_error', `${index} ${JSON.stringify(header)}`)
      }
    }
    for (const alg of ['none', 'None', 'NONE', '', 'ES256', 'RS256', null]) {
      forge(
        svc,
        (claims) => `${base64url({ alg, kid: key.kid, jku: `${svc.acme.issuer}/evil` })}.${base64url(claims)}.`,
      )
      t.equal(failure(await new Visitor(svc).signIn('grace')), 'provider_error', String(alg))
    }
    t.same(svc.acme.callsTo('/evil'), [], 'a token cannot name its keys')
    t.equal(await svc.database.prisma.user.count(), 0)
  }
})

t.test('counts equal failures in one row, because everyone can begin and refuse a sign-in', async (t) => {
  const svc = await buildSocial(t)
  const refuse = async (error: string) => {
    const visitor = new Visitor(svc)
    const state = (await visitor.begin()).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ state, error, iss: svc.acme.issuer })
    return failure(await visitor.open(`/auth/acme/callback?${query}`))
  }
  for (let i = 0; i < 3; i++) t.equal(await refuse('access_denied'), 'access_denied')
  t.equal(await refuse('server_error'), 'provider_error')
  const rows = await svc.database.prisma.event.findMany({ where: { type: 'social_login_failed' } })
  t.strictSame(rows.map(({ reason, repeats }) => [reason, repeats]).sort(), [
    ['access_denied', 2],
    ['provider_error', 0],
  ])
})

t.test('binds an identity to its provider: another one cannot use its issuer, codes or subjects', async (t) => {
  const evil = await OidcProvider.start(t, [{ sub: 'grace' }], [callbackUri('evil')])
  const svc = await buildSocial(t)
  const settings = { ...svc.settings, social: { acme: svc.acme.settings, evil: evil.settings } }
  const both = await buildSocial(t, { settings })
  const grace = new Visitor(both)
  await grace.browser.get('/svc/csrf-cookie')
  t.equal(failure(await new Visitor(both).signIn('grace', 'evil')), 'email_missing')
  evil.changeIdToken((claims) => ({ ...claims, iss: svc.acme.issuer }))
  t.equal(failure(await new Visitor(both).signIn('grace', 'evil')), 'provider_error', 'the issuer of another provider')
  evil.instead.clear()
  // The mix-up attack: a flow that began at one provider returns with the code of another.
  const mixed = new Visitor(both)
  const begun = await mixed.begin('evil')
  const there = await mixed.begin('acme')
  const honest = await mixed.allow(there, 'grace')
  const sent = new URL(honest)
  sent.searchParams.set('state', begun.searchParams.get('state') ?? '')
  t.equal(failure(await mixed.back(sent)), 'invalid_state', 'the state of another provider')
  sent.pathname = '/auth/evil/callback'
  t.equal(failure(await mixed.back(sent)), 'provider_error', 'the issuer of the response differs')
  t.same(evil.callsTo('/token').length, 2, 'and the code is not sent on')
  t.equal((await mixed.back(honest)).headers.location, `${frontEnd}/`)
  t.equal(await both.database.prisma.socialAccount.count({ where: { provider: 'evil' } }), 0)
})

t.test('accepts email_verified only with the address of the same document', async (t) => {
  const svc = await buildSocial(t)
  await svc.createUser({ email: 'grace@example.com' })
  svc.acme.changeIdToken((claims) => ({ ...claims, email_verified: true }))
  svc.acme.changeUserinfo(({ email_verified: _, ...claims }) => claims)
  t.equal(failure(await new Visitor(svc).signIn('grace')), 'account_exists', 'of the ID token, for UserInfo')
  svc.acme.changeIdToken((claims) => ({ ...claims, email: 'grace@example.com' }))
  svc.acme.changeUserinfo((claims) => ({ ...claims, email: 'other@example.com', email_verified: true }))
  t.equal(failure(await new Visitor(svc).signIn('grace')), 'account_exists', 'of UserInfo, for the ID token')
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
})

t.test('stores odd and huge claims shortened or not at all', async (t) => {
  const svc = await buildSocial(t)
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
  const odd = [
    { name: 'x'.repeat(100_000), picture: `https://x.example/${'y'.repeat(100_000)}` },
    { name: 'A\u202eB\u0007C\u2028D\r\nE\ud800', picture: 'javascript:alert(1)' },
    { name: { toString: 'x' }, picture: ['https://x.example'] },
    { name: ' \u0000\u202e ', picture: 'https://user:password@x.example/\r\nX: y' },
    JSON.parse('{"__proto__":{"name":"polluted"},"constructor":{"prototype":{"x":1}},"name":7}'),
  ]
  for (const claims of odd) {
    svc.acme.changeUserinfo((all) => ({ ...all, name: undefined, ...claims }))
    const visitor = new Visitor(svc)
    t.equal((await visitor.signIn('grace')).headers.location, `${frontEnd}/`)
    const [{ name, avatar }] = (await visitor.browser.get(list)).json()
    t.ok(
      name === null || ([...name].length <= 255 && !/[\p{Cc}\u2028\u202e\ufffe]/u.test(name)),
      encodeURI(String(name)),
    )
    t.ok(avatar === null || (avatar.length <= 2_048 && avatar.startsWith('https://')), JSON.stringify(avatar))
    t.equal((await visitor.browser.get('/api/user')).statusCode, 200)
  }
  svc.acme.changeUserinfo((all) => ({ ...all, name: deep, picture: deep }))
  t.equal((await new Visitor(svc).signIn('grace')).statusCode, 302, 'deeply nested claims')
  svc.acme.instead.clear()
  for (const sub of ['x'.repeat(256), '', 'a\u0000b', '\ud800', 7, null, {}, ['grace']]) {
    svc.acme.changeIdToken((claims) => ({ ...claims, sub: sub as string }))
    t.equal(failure(await new Visitor(svc).signIn('grace')), 'provider_error', JSON.stringify(sub).slice(0, 20))
  }
  const times = [1e300, -1, 0.5, '1', null, Number.MAX_SAFE_INTEGER]
  for (const time of times) {
    svc.acme.changeIdToken((claims) => ({
      ...claims,
      iat: time as number,
      exp: time as number,
      auth_time: time as number,
    }))
    const answer = await new Visitor(svc).signIn('grace')
    t.ok([null, 'provider_error'].includes(failure(answer)) && answer.statusCode === 302, String(time))
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('writes no value of a provider into a header', async (t) => {
  const svc = await buildSocial(t)
  for (const text of [
    'x\r\nSet-Cookie: evil=1',
    'x\nLocation: https://evil.example',
    '\u2028evil',
    '"><script>',
    '\u0000',
  ]) {
    const visitor = new Visitor(svc)
    const back = new URL((await visitor.begin()).searchParams.get('redirect_uri') ?? '')
    const state = (await visitor.begin()).searchParams.get('state') ?? ''
    for (const [name, value] of Object.entries({ state, iss: svc.acme.issuer, error: text, error_description: text })) {
      back.searchParams.set(name, value)
    }
    const answer = await visitor.back(back)
    t.equal(failure(answer), 'provider_error', encodeURIComponent(text))
    t.notMatch(JSON.stringify(answer.headers), 'evil')
    const posted = await svc.app.inject({
      method: 'POST',
      url: '/auth/acme/callback',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ [text]: text, error_description: text, state }).toString(),
    })
    t.ok([303, 400].includes(posted.statusCode), String(posted.statusCode))
    t.equal(posted.headers['set-cookie'], undefined)
    if (posted.statusCode === 303) t.equal(new URL(String(posted.headers.location)).origin, 'http://localhost:8000')
  }
})

t.test('accepts one of 30 callbacks with one state', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const back = await visitor.allow(await visitor.begin(), 'grace')
  const cookie = await visitor.browser.jar.getCookieString(back.href)
  const answers = await Promise.all(
    Array.from({ length: 30 }, () =>
      svc.app.inject({
        url: back.pathname + back.search,
        headers: { cookie, accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      }),
    ),
  )
  const told = answers.map((answer) => failure(answer))
  t.equal(told.filter((code) => code === null).length, 1)
  t.equal(told.filter((code) => code === 'invalid_state').length, 29)
  t.equal(svc.acme.callsTo('/token').length, 1)
  t.equal(await svc.database.prisma.session.count({ where: { NOT: { userId: null } } }), 1)
})

t.test('creates one account with one link for 30 concurrent first sign-ins', async (t) => {
  const svc = await buildSocial(t)
  const visitors = Array.from({ length: 30 }, () => new Visitor(svc))
  const backs = await Promise.all(visitors.map(async (visitor) => visitor.allow(await visitor.begin(), 'grace')))
  const answers = await Promise.all(visitors.map((visitor, index) => visitor.back(backs[index] ?? new URL('x:'))))
  for (const answer of answers) t.equal(answer.headers.location, `${frontEnd}/`, answer.body)
  t.equal(await svc.database.prisma.user.count(), 1)
  t.equal(await svc.database.prisma.socialAccount.count(), 1)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'registered' } }), 1)
})

t.test('gives an identity to one of 10 users who link it while 10 browsers sign in with it', async (t) => {
  const svc = await buildSocial(t)
  const users = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { email, id } = await svc.createUser()
      const visitor = new Visitor(svc, await confirmedBrowser(svc, email))
      const { url } = (await visitor.browser.post(`${list}/acme`, {})).json()
      return { id, visitor, back: await visitor.allow(new URL(url), 'grace') }
    }),
  )
  const guests = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const visitor = new Visitor(svc)
      return { visitor, back: await visitor.allow(await visitor.begin(), 'grace') }
    }),
  )
  const answers = await Promise.all([...users, ...guests].map(({ visitor, back }) => visitor.back(back)))
  const rows = await svc.database.prisma.socialAccount.findMany()
  t.equal(rows.length, 1)
  const owner = Number(rows[0]?.userId)
  for (const [index, answer] of answers.entries()) {
    const user = users[index]
    const expected = user && user.id !== owner ? 'account_exists' : null
    t.equal(failure(answer), expected, `${index}`)
  }
  for (const { visitor } of guests) t.equal((await visitor.user())?.id, owner)
  for (const { visitor, id } of users) t.equal((await visitor.user())?.id, id)
})

t.test('links an identity at most once while it is unlinked and 20 browsers sign in with it', async (t) => {
  const svc = await buildSocial(t)
  const { email, id } = await svc.createUser()
  const ada = { visitor: new Visitor(svc, await confirmedBrowser(svc, email)) }
  await link(ada, 'unproven')
  const [linked] = (await ada.visitor.browser.get(list)).json()
  const guests = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const visitor = new Visitor(svc)
      return { visitor, back: await visitor.allow(await visitor.begin(), 'unproven') }
    }),
  )
  const [gone, ...answers] = await Promise.all([
    ada.visitor.browser.delete(`${list}/${linked.id}`),
    ...guests.map(({ visitor, back }) => visitor.back(back)),
  ])
  t.equal(gone.statusCode, 200)
  for (const [index, answer] of answers.entries()) {
    const user = await guests[index]?.visitor.user()
    t.ok(failure(answer) === 'email_unverified' ? user === null : user?.id === id, `${index}: ${failure(answer)}`)
  }
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
  t.equal(await svc.database.prisma.user.count(), 1)
})
