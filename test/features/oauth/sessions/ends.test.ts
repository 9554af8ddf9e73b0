import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import type { Browser } from '../../../support/browser.ts'
import { minute } from '../../../support/clock.ts'
import { introspect, Person, refresh, request, response } from '../../../support/oauth.ts'
import { runCli, temporaryDirectory } from '../../../support/process.ts'
import { travel } from '../../../support/time.ts'
import { buildWithParty, kinds, offline, sessionBoundTokens } from './party.ts'

const strong = 'violet engine on the hill'
const kept = { offline: true }
const gone = { offline: false }

interface Scene {
  svc: TestApp
  settings: object
  /** The browser with the session that will end, and another of the same user. */
  own: Browser
  other: Browser
  email: string
}

/** Every way to end a browser session, and whether offline access outlives it. */
const ends: Record<string, { outlives: typeof kept; end: (scene: Scene) => Promise<unknown> }> = {
  'sign-out': { outlives: kept, end: ({ own }) => own.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' }) },
  'its deletion from another browser': {
    outlives: kept,
    end: async ({ other }) => {
      const list: { id: string; current: boolean }[] = (await other.get('/user/sessions')).json()
      for (const { id } of list.filter(({ current }) => !current)) await other.delete(`/user/sessions/${id}`)
    },
  },
  'the deletion of all others': {
    outlives: kept,
    end: ({ other }) => other.delete('/user/other-sessions', { password: 'correct horse' }),
  },
  'a changed password': {
    outlives: kept,
    end: ({ other }) =>
      other.put('/user/password', {
        current_password: 'correct horse',
        password: strong,
        password_confirmation: strong,
      }),
  },
  'a reset password': {
    outlives: gone,
    end: async ({ svc, email }) => {
      const visitor = svc.browser()
      await visitor.get('/svc/csrf-cookie')
      await visitor.post('/forgot-password', { email })
      const token = await svc.mailbox.find(email, /reset-password\/([^?\s]+)\?/)
      const form = { token, email, password: strong, password_confirmation: strong }
      await visitor.post('/reset-password', form)
    },
  },
  'the deletion of the user': {
    outlives: gone,
    end: async ({ other }) => {
      await other.post('/user/confirm-password', { password: 'correct horse' })
      await other.delete('/user')
    },
  },
  'an administrator who disables the user, from another process': {
    outlives: gone,
    end: async ({ svc, settings, email }) => {
      const cwd = temporaryDirectory(t)
      writeFileSync(join(cwd, 'svc.yaml'), stringify(settings))
      const secret = 'the-secret-of-the-tests-is-32-bytes-long'
      const env = { DATABASE_URL: svc.where.url, SVC_SECRET: secret, SVC_CONFIG: 'svc.yaml' }
      const done = await runCli(['user:update', `--email=${email}`, '--disable'], { cwd, env })
      if (done.code !== 0) throw new Error(done.stderr)
    },
  },
}

for (const [name, { outlives, end }] of Object.entries(ends)) {
  t.test(`${name} revokes what clients hold of the session, immediately on every replica`, async (t) => {
    const { party, svc, settings, clock } = await buildWithParty(t)
    const replica = await buildTestApp(t, { settings, clock, database: svc.where })
    const user = await svc.createUser()
    const bystander = new Person(svc, (await svc.createUser()).email)
    const theirs = await sessionBoundTokens(svc, bystander)
    const person = new Person(svc, user.email)
    const mine = await sessionBoundTokens(svc, person)
    const lasting = await offline(svc, person)
    const other = svc.browser()
    await other.signIn(user.email)
    t.match(await introspect(replica, 'web', mine.access_token), { active: true })

    await end({ svc, settings, own: person.plain.browser, other, email: user.email })
    t.equal((await replica.bearer(mine.access_token, 'GET', '/api/user')).statusCode, 401, 'its access token')
    t.same(await introspect(replica, 'web', mine.refresh_token), { active: false }, 'its refresh token')
    t.match((await refresh(replica, 'web', mine.refresh_token)).json(), { error: 'invalid_grant' })
    t.equal((await refresh(replica, 'own', lasting.refresh_token)).statusCode, outlives.offline ? 200 : 400, 'offline')
    t.match(await kinds(svc), { Session: 1 }, 'only the bystander remains')
    const stop = await person.authorize(request('web', { prompt: 'none', scope: 'openid' }))
    t.match(response(stop), { error: 'login_required' })

    // Another process has a separate clock.
    travel(svc, minute)
    await svc.app.outbox.deliverDue()
    const told = await party.tokens(svc)
    t.match(told, [{ sub: String(user.id) }])
    t.same(await party.sids(svc), [mine.sid], 'the client is notified once')
    t.notHas(told[0], { nonce: '' })
    t.same(told[0]?.events, { 'http://schemas.openid.net/event/backchannel-logout': {} })
    t.equal((await refresh(replica, 'web', theirs.refresh_token)).statusCode, 200, 'the bystander')
  })
}

t.test('neither revokes tokens nor notifies clients when the end of a session is rolled back', async (t) => {
  const { party, svc } = await buildWithParty(t)
  const user = await svc.createUser()
  const person = new Person(svc, user.email)
  const { refresh_token } = await sessionBoundTokens(svc, person)
  const failing = svc.database.transaction(async (tx) => {
    await svc.app.sessionListener.ended(tx, { userId: user.id, except: null })
    throw new Error('no')
  })
  await t.rejects(failing, { message: 'no' })
  await svc.app.outbox.deliverDue()
  t.same(party.received, [])
  t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 200)
})

t.test('keeps the other browsers of the user when one session ends', async (t) => {
  const { svc, party } = await buildWithParty(t)
  const { email } = await svc.createUser()
  const [here, there] = [new Person(svc, email), new Person(svc, email)]
  const [mine, theirs] = [await sessionBoundTokens(svc, here), await sessionBoundTokens(svc, there)]
  await here.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
  t.equal((await refresh(svc, 'web', mine.refresh_token)).statusCode, 400)
  t.equal((await refresh(svc, 'web', theirs.refresh_token)).statusCode, 200)
  await svc.app.outbox.deliverDue()
  t.same(await party.sids(svc), [mine.sid])
})
