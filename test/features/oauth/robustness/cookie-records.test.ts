import { randomBytes } from 'node:crypto'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { hour, minute } from '../../../support/clock.ts'
import { oauthSettings, redeem, request, response, type WalkResult } from '../../../support/oauth.ts'
import { build, cookiesOf, interaction, newPerson, open, site, storedRecords, uidOf } from './anonymous-browsers.ts'

t.test('stores nothing for a browser without a signed-in user', async (t) => {
  const svc = await build(t)
  const visitor = newPerson(svc)
  t.equal((await visitor.authorize(request('web', { scope: 'openid orders:read' }))).page, 'Sign in')
  t.equal((await visitor.go('/oauth/device')).page, 'Connect a device')
  await visitor.go('/oauth/logout')
  t.same(await storedRecords(svc), {})
  t.equal(await svc.database.prisma.loginLimit.count(), 0)
  const [cookie] = await cookiesOf(visitor, interaction)
  t.match(cookie, { httpOnly: true, secure: true, path: '/', sameSite: 'lax', expires: Date })
  t.match(cookie?.key, /^__Host-/)
  t.ok((cookie?.value.length ?? 0) < 1_000, `${cookie?.value.length} characters`)
})

t.test('signs users in during a flood from many addresses', async (t) => {
  const svc = await build(t, { rate_limits: { authorization: '2/10m', authorization_total: '2/1h' } })
  const long = new URLSearchParams(request('web', { state: randomBytes(2_000).toString('base64url') }))
  const short = new URLSearchParams(request('web'))
  const statuses: number[] = []
  for (let host = 1; host <= 20; host++) {
    for (const query of [long, short]) {
      const remoteAddress = `192.0.2.${host}`
      const answer = await svc.app.inject({ url: `/oauth/authorize?${query}`, remoteAddress })
      statuses.push(answer.statusCode)
    }
  }
  t.equal(statuses.filter((status) => status === 429).length, 18, 'long requests beyond the total are rejected')
  t.same(await storedRecords(svc), { Interaction: 2 })
  const ada = newPerson(svc, (await svc.createUser()).email)
  t.ok(response(await ada.allow(request('web', { scope: 'openid orders:read' }))).code)
})

t.test('stores a request that is too long for a cookie, and continues', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const state = randomBytes(3_000).toString('base64url')
  const stop = await ada.authorize(request('web', { state, scope: 'openid' }))
  t.same(await storedRecords(svc), { Interaction: 1 })
  t.equal(response(await ada.decide(stop)).state, state)
})

t.test('continues several tabs independently', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const tabs = []
  for (const state of ['one', 'two', 'three'])
    tabs.push(await ada.authorize(request('own', { state, scope: 'openid' })))
  const codes = []
  for (const tab of tabs) {
    const path = new URL(tab.path, site).searchParams.get('return_to') ?? ''
    const done: WalkResult = codes.length === 0 ? await ada.decide(tab) : await ada.go(path)
    t.equal(response(done).state, ['one', 'two', 'three'][codes.length])
    codes.push(response(done).code)
  }
  for (const code of codes) t.equal((await redeem(svc, 'own', code ?? '')).statusCode, 200)
  t.equal((await cookiesOf(ada, interaction)).length, 0, 'and removes their cookies')
})

t.test('expires the oldest authorizations when their cookies get too long', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const first = await ada.authorize(request('own', { scope: 'openid' }))
  let last = first
  for (let tab = 0; tab < 12; tab++) {
    const state = randomBytes(300).toString('base64url')
    last = await ada.authorize(request('own', { scope: 'openid', state }))
    const cookies = await cookiesOf(ada, interaction)
    const length = cookies.reduce((sum, { key, value }) => sum + key.length + value.length, 0)
    t.ok(length < 4_400 && cookies.length <= 8, `${cookies.length} cookies, ${length} bytes`)
  }
  const gone = new URL(first.path, site).searchParams.get('return_to') ?? ''
  t.equal((await ada.go(gone)).answer.statusCode, 404)
  t.ok(response(await ada.decide(last)).code, 'the newest continues')
})

t.test('rejects a completed authorization that is resumed with its old cookies', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const stop = await ada.authorize(request('own', { scope: 'openid' }))
  const old = (await cookiesOf(ada, 'svc_oauth_')).map((cookie) => cookie.cookieString())
  const uid = uidOf(old.join())
  t.ok(response(await ada.decide(stop)).code)
  t.same(
    await svc.database.prisma.oauthRecord.findMany({ where: { kind: 'Interaction' }, select: { payload: true } }),
    [{ payload: '{}' }],
  )
  const signedIn = (await cookiesOf(ada)).map((cookie) => cookie.cookieString())
  for (const cookies of [old, [...signedIn, ...old]]) {
    t.equal((await open(svc, `/oauth/interaction/${uid}`, cookies.join('; '))).statusCode, 404)
    const resumed = await open(svc, `/oauth/authorize/${uid}`, cookies.join('; '))
    t.same([resumed.statusCode, resumed.headers.location], [400, undefined])
  }
})

t.test('issues one code for many concurrent resumptions', async (t) => {
  const svc = await build(t)
  for (let round = 0; round < 3; round++) {
    const ada = newPerson(svc, (await svc.createUser()).email)
    await ada.authorize(request('own', { scope: 'openid' }))
    const uid = uidOf((await cookiesOf(ada, interaction)).join())
    await ada.signIn()
    const cookie = (await cookiesOf(ada)).map((one) => one.cookieString()).join('; ')
    const decided = await open(svc, `/oauth/interaction/${uid}`, cookie)
    t.equal(decided.headers.location, `${site}/oauth/authorize/${uid}`)
    const answers = await Promise.all(Array.from({ length: 20 }, () => open(svc, `/oauth/authorize/${uid}`, cookie)))
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    t.strictSame(statuses, [303, ...Array<number>(19).fill(400)])
  }
})

t.test('ignores an authorization until a user signs in', async (t) => {
  const svc = await build(t)
  const visitor = newPerson(svc)
  await visitor.authorize(request('web', { scope: 'openid' }))
  const cookies = (await cookiesOf(visitor)).map((cookie) => cookie.cookieString()).join('; ')
  const resumed = await open(svc, `/oauth/authorize/${uidOf(cookies)}`, cookies)
  t.same([resumed.statusCode, resumed.headers.location], [400, undefined])
  t.same(await storedRecords(svc), {})
})

t.test('accepts a cookie only unchanged, under its own name and before its expiry', async (t) => {
  const svc = await build(t)
  const [visitor, other] = [newPerson(svc), newPerson(svc)]
  for (const person of [visitor, other]) await person.authorize(request('web'))
  const [[mine], [theirs]] = [await cookiesOf(visitor, interaction), await cookiesOf(other, interaction)]
  if (!mine || !theirs) throw new Error('No cookies')
  const uid = uidOf(mine.key)
  const tryCookie = async (cookie: string) => (await open(svc, `/oauth/interaction/${uid}`, cookie)).statusCode
  t.equal(await tryCookie(mine.cookieString()), 302, 'the valid cookies')
  const bad: Record<string, string> = {
    'no cookie': '',
    'a changed cookie': `${mine.key}=${mine.value.slice(0, -2)}${mine.value.endsWith('AA') ? 'BB' : 'AA'}`,
    'a cut cookie': `${mine.key}=${mine.value.slice(0, 40)}`,
    'an empty cookie': `${mine.key}=`,
    'the authorization of another browser': `${mine.key}=${theirs.value}`,
    'a name without the prefix, which a sibling site can set': `${mine.key.replace('__Host-', '')}=${mine.value}`,
    'a name with the weaker prefix': `${mine.key.replace('__Host-', '__Secure-')}=${mine.value}`,
    'the name of the resumption': `${mine.key.replace('interaction', 'resume')}=${mine.value}`,
    'a duplicate cookie': `${mine.cookieString()}; ${mine.key}=${theirs.value}`,
  }
  for (const [name, cookie] of Object.entries(bad)) t.equal(await tryCookie(cookie), 404, name)
  svc.clock.advance(hour - minute)
  t.equal(await tryCookie(mine.cookieString()), 302)
  svc.clock.advance(2 * minute)
  t.equal(await tryCookie(mine.cookieString()), 404, 'expired')
})

t.test('requires more than the uid of an authorization', async (t) => {
  const svc = await build(t)
  const ada = newPerson(svc, (await svc.createUser()).email)
  const stop = await ada.authorize(request('web'))
  const uid = uidOf((await cookiesOf(ada, interaction)).join())
  const plain = `__Host-${interaction}${uid}=${uid}; __Host-svc_oauth_resume_${uid}=${uid}`
  t.equal((await open(svc, `/oauth/interaction/${uid}`, plain)).statusCode, 404)
  t.equal((await open(svc, `/oauth/authorize/${uid}`, plain)).statusCode, 400)
  t.match(stop.answer.body, 'Continue to ')
  const page = await svc.app.inject({ url: stop.path, headers: { accept: 'text/html' } })
  t.notMatch(page.body, 'Continue to ', 'the client is not revealed either')
})

t.test('decrypts cookies with an older secret', async (t) => {
  const [older, newer] = ['An-0lder-secret-that-is-long-enough!!', 'A-n3wer-secret-that-is-long-enough!!']
  const url = 'http://localhost:8000'
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, app: { url, secret: [older] } } })
  const visitor = newPerson(svc, 'unknown@example.com', url)
  const { path } = await visitor.authorize(request('web'))
  const cookie = await visitor.plain.browser.jar.getCookieString(url)
  const target = new URL(path, url).searchParams.get('return_to') ?? ''
  const settings = { ...oauthSettings, app: { url, secret: [newer, older] } }
  const restarted = await buildTestApp(t, { settings, database: svc.where })
  t.equal((await open(restarted, target, cookie)).statusCode, 302)
})
