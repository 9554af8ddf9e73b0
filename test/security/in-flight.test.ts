import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { beforeNextTransaction } from '../support/meanwhile.ts'
import { oauthSettings, Person, request } from '../support/oauth.ts'
import { codeAt } from '../support/totp.ts'

interface Prepared {
  /** State that the request must not change. */
  state(): Promise<unknown>
  send(): Promise<{ statusCode: number; body: string }>
}

/** Each route that changes an account, with its change. */
const routes: Record<string, (svc: TestApp, spa: Browser, userId: bigint) => Promise<Prepared>> = {
  'PUT /user/profile-information': async ({ database: { prisma } }, spa, id) => {
    const { email } = await prisma.user.findUniqueOrThrow({ where: { id } })
    return {
      state: () => prisma.user.findUnique({ where: { id } }),
      send: () => spa.put('/user/profile-information', { name: 'Intruder', email }),
    }
  },
  'PUT /user/password': async ({ database: { prisma } }, spa, id) => {
    const password = 'violet engine on the hill'
    const body = { current_password: 'correct horse', password, password_confirmation: password }
    return { state: () => prisma.user.findUnique({ where: { id } }), send: () => spa.put('/user/password', body) }
  },
  'DELETE /user': async ({ database: { prisma } }, spa, id) => ({
    state: () => prisma.user.findUnique({ where: { id } }),
    send: () => spa.delete('/user'),
  }),
  'DELETE /user/passkeys/{id}': async ({ database: { prisma } }, spa, userId) => {
    const date = new Date()
    const row = { userId, name: 'Key', publicKey: 'x', credentialId: `key-${userId}`, createdAt: date, updatedAt: date }
    const { id } = await prisma.passkey.create({ data: row })
    return {
      state: () => prisma.passkey.findMany({ where: { userId } }),
      send: () => spa.delete(`/user/passkeys/${id}`),
    }
  },
  'PUT /user/passkeys/{id}': async ({ database: { prisma } }, spa, userId) => {
    const date = new Date()
    const row = { userId, name: 'Key', publicKey: 'x', credentialId: `put-${userId}`, createdAt: date, updatedAt: date }
    const { id } = await prisma.passkey.create({ data: row })
    return {
      state: () => prisma.passkey.findMany({ where: { userId } }),
      send: () => spa.put(`/user/passkeys/${id}`, { name: 'Intruder' }),
    }
  },
  'DELETE /user/social-accounts/{id}': async ({ database: { prisma } }, spa, userId) => {
    const date = new Date()
    const row = { userId, provider: 'github', providerId: `id-${userId}`, createdAt: date, updatedAt: date }
    const { id } = await prisma.socialAccount.create({ data: row })
    return {
      state: () => prisma.socialAccount.findMany({ where: { userId } }),
      send: () => spa.delete(`/user/social-accounts/${id}`),
    }
  },
  'DELETE /user/sessions/{id}': async (svc, spa, userId) => {
    const { email } = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: userId } })
    const owner = svc.browser()
    await owner.signIn(email)
    const listed = (await owner.get('/user/sessions')).json()
    const { id } = listed.find(({ current }: { current: boolean }) => current)
    return {
      state: async () => (await owner.get('/api/user')).statusCode,
      send: () => spa.delete(`/user/sessions/${id}`),
    }
  },
  'DELETE /user/other-sessions': async (svc, spa, userId) => {
    const { email } = await svc.database.prisma.user.findUniqueOrThrow({ where: { id: userId } })
    const owner = svc.browser()
    await owner.signIn(email)
    return {
      state: async () => (await owner.get('/api/user')).statusCode,
      send: () => spa.delete('/user/other-sessions', { password: 'correct horse' }),
    }
  },
  'POST /user/two-factor-authentication': async ({ database: { prisma } }, spa, id) => ({
    state: () => prisma.user.findUnique({ where: { id } }),
    send: () => spa.post('/user/two-factor-authentication'),
  }),
  'DELETE /user/two-factor-authentication': async ({ database: { prisma } }, spa, id) => {
    await spa.post('/user/two-factor-authentication')
    return {
      state: () => prisma.user.findUnique({ where: { id } }),
      send: () => spa.delete('/user/two-factor-authentication'),
    }
  },
  'POST /user/two-factor-recovery-codes': async ({ database: { prisma } }, spa, id) => {
    await spa.post('/user/two-factor-authentication')
    return {
      state: () => prisma.user.findUnique({ where: { id } }),
      send: () => spa.post('/user/two-factor-recovery-codes'),
    }
  },
  'POST /user/confirmed-two-factor-authentication': async ({ clock, database: { prisma } }, spa, id) => {
    await spa.post('/user/two-factor-authentication')
    const { secretKey } = (await spa.get('/user/two-factor-secret-key')).json()
    const code = codeAt(secretKey, clock.now())
    return {
      state: () => prisma.user.findUnique({ where: { id } }),
      send: () => spa.post('/user/confirmed-two-factor-authentication', { code }),
    }
  },
  'POST /oauth/personal-access-tokens': async ({ database: { prisma } }, spa, userId) => ({
    state: () => prisma.oauthPersonalToken.count({ where: { userId } }),
    send: () => spa.post('/oauth/personal-access-tokens', { name: 'Intruder' }),
  }),
  'POST /api/tokens/create': async ({ database: { prisma } }, spa, userId) => ({
    state: () => prisma.personalAccessToken.count({ where: { tokenableId: userId } }),
    send: () => spa.post('/api/tokens/create', { token_name: 'Intruder' }),
  }),
}

/** What happens between the check of the session and the change. */
const happenings: Record<string, (svc: TestApp, session: string, userId: bigint) => Promise<unknown>> = {
  'the session ends': ({ database: { prisma } }, publicId) => prisma.session.delete({ where: { publicId } }),
  // The session's row stays, as in a process that only reads the account.
  'the account is disabled': ({ database: { prisma } }, _session, id) => disable(prisma, id, new Date()),
}

const disable = (prisma: TestApp['database']['prisma'], id: bigint, disabledAt: Date | null) =>
  prisma.user.update({ where: { id }, data: { disabledAt } })

async function overtaken(
  t: Test,
  svc: TestApp,
  name: string,
  prepare: (typeof routes)[string],
  happen: (typeof happenings)[string],
): Promise<void> {
  const user = await svc.createUser()
  const id = BigInt(user.id)
  const spa = svc.browser()
  await spa.signIn(user.email)
  await spa.post('/user/confirm-password', { password: 'correct horse' })
  const session = (await spa.get('/user/sessions')).json()[0].id
  const { state, send } = await prepare(svc, spa, id)
  const before = await state()
  beforeNextTransaction(svc, () => happen(svc, session, id))
  const answer = await send()
  await disable(svc.database.prisma, id, null)
  t.equal(answer.statusCode, 401, `${name}: ${answer.body}`)
  t.strictSame(await state(), before, `${name} changes nothing`)
}

for (const [moment, happen] of Object.entries(happenings)) {
  t.test(`a request changes nothing when ${moment} while it is in flight`, async (t) => {
    const svc = await buildTestApp(t, {
      settings: {
        social: { github: { client_id: 'x', client_secret: 'a-secret-that-is-long-enough' } },
        rate_limits: { login: null },
      },
    })
    for (const [name, prepare] of Object.entries(routes)) await overtaken(t, svc, name, prepare, happen)
  })
}

t.test('rejects a new token for an API token whose account is disabled while the request is in flight', async (t) => {
  const svc = await buildTestApp(t)
  const { prisma } = svc.database
  const user = await svc.createUser()
  const id = BigInt(user.id)
  const body = { email: user.email, password: 'correct horse', device_name: 'Phone' }
  const { token } = (await svc.bearer(null, 'POST', '/svc/token', body)).json()
  beforeNextTransaction(svc, () => disable(prisma, id, new Date()))
  t.equal((await svc.bearer(token, 'POST', '/api/tokens/create', { token_name: 'Intruder' })).statusCode, 401)
  t.equal(await prisma.personalAccessToken.count({ where: { tokenableId: id } }), 1)
})

t.test('rejects a new token for an API token that is revoked while the request is in flight', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  beforeNextTransaction(svc, () => svc.bearer(token, 'DELETE', '/api/tokens/current'))
  t.equal((await svc.bearer(token, 'POST', '/api/tokens/create', { token_name: 'Intruder' })).statusCode, 401)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('saves no consent when the account is disabled while the request is in flight', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const { prisma } = svc.database
  const { id, email } = await svc.createUser()
  const person = new Person(svc, email)
  await person.signIn()
  const consent = await person.authorize(request('web', { scope: 'openid orders:read' }))
  t.equal(consent.page, 'Authorize')
  beforeNextTransaction(svc, () => disable(prisma, BigInt(id), new Date()))
  const { answer } = await person.press(consent, { decision: 'approve' })
  t.equal(answer.statusCode, 401, answer.body)
  t.equal(await prisma.oauthConsent.count(), 0)
})
