import type { Test } from 'tap'
import { openCopy } from '../../../src/platform/database/copy/open.ts'
import { Prisma } from '../../../src/platform/generated/postgresql/client.ts'
import { Visitor, withPasskey } from '../../features/passkeys/visitor.ts'
import type { TestApp } from '../../support/app.ts'
import type { Authenticator } from '../../support/authenticator.ts'
import { Browser } from '../../support/browser.ts'
import { oauthSettings, Person, redeem, refresh, request, response } from '../../support/oauth.ts'
import { enableTwoFactor, type TwoFactorUser } from '../../support/totp.ts'

/** Settings that every credential below needs. */
export const settings = {
  ...oauthSettings,
  app: { frontend_url: 'http://localhost:5173' },
  passkeys: { confirm_password: false },
}

const home = 'http://localhost:8000/'

/** One credential of each kind, issued by one svc, to be used at another. */
export interface Credentials {
  ada: TwoFactorUser
  token: string
  jwt: string
  refreshToken: string
  personalToken: string
  authenticator: Authenticator
  /** The owner of the passkey. */
  owner: number
}

/** Issues the credentials over HTTP. */
export async function issueCredentials(svc: TestApp): Promise<Credentials> {
  const ada = await enableTwoFactor(svc)
  const { user, authenticator, owner } = await withPasskey(svc)
  const person = new Person(svc, user.email)
  const { code = '' } = response(await person.allow(request('web', { scope: 'openid offline_access orders:read' })))
  const tokens = (await redeem(svc, 'web', code)).json()
  const personal = await owner.browser.post('/oauth/personal-access-tokens', { name: 'CI', scopes: ['orders:read'] })
  return {
    ada,
    token: await svc.createToken(ada.user),
    jwt: tokens.access_token,
    refreshToken: tokens.refresh_token,
    personalToken: personal.json().accessToken,
    authenticator,
    owner: user.id,
  }
}

/** A browser at another svc with the same cookies. */
async function moved(browser: Browser, { app }: TestApp): Promise<Browser> {
  const copy = new Browser(app)
  for (const cookie of await browser.jar.getCookies(home)) await copy.jar.setCookie(cookie, home)
  return copy
}

/** Uses every credential at an svc on the copied data. */
export async function useCredentials(t: Test, svc: TestApp, issued: Credentials): Promise<void> {
  const { ada, authenticator, owner } = issued
  const session = await moved(ada.browser, svc)
  t.equal((await session.get('/api/user')).json().id, ada.user.id, 'the session')
  for (const bearer of ['token', 'jwt', 'personalToken'] as const)
    t.equal((await svc.bearer(issued[bearer], 'GET', '/api/user')).statusCode, 200, `the ${bearer}`)
  t.equal((await refresh(svc, 'web', issued.refreshToken)).statusCode, 200, 'the refresh token')

  const browser = svc.browser()
  t.same((await browser.signIn(ada.email)).json(), { two_factor: true })
  const second = await browser.post('/two-factor-challenge', { code: ada.code() })
  t.equal(second.statusCode, 204, 'the code of the authenticator app')
  const other = svc.browser()
  await other.signIn(ada.email)
  const recovered = await other.post('/two-factor-challenge', { recovery_code: ada.recoveryCodes[0] })
  t.equal(recovered.statusCode, 204, 'a recovery code')
  const guest = new Visitor(svc.browser())
  t.equal((await guest.login(authenticator)).statusCode, 200, 'the passkey')
  t.equal(await guest.userId(), owner)
}

const odd = `ö"'\\ \n😀 {"a": [1]}\t%_`

/** Writes rows with odd values into the tables that the credentials left empty. */
export async function fillTables(svc: TestApp, userId: number): Promise<void> {
  const { prisma } = svc.database
  const [user, big, date] = [BigInt(userId), 2n ** 63n - 1n, new Date('1969-12-31T23:59:59.001Z')]
  const later = new Date('2099-02-28T00:00:00.120Z')
  const dates = { createdAt: date, expiresAt: later }
  await prisma.passwordReset.create({ data: { userId: user, tokenHash: 'a', createdAt: date } })
  await prisma.configSnapshot.create({ data: { id: 'odd', settings: odd, appliedAt: date } })
  await prisma.usedOnce.create({ data: { id: odd, expiresAt: big } })
  await prisma.loginLimit.create({ data: { key: odd, failures: 2_147_483_647, resetsAt: -big, blockedUntil: big } })
  const code = { id: 'a', email: odd, mac: '', remember: true, expiresAt: later }
  await prisma.loginCode.createMany({ data: [code, { ...code, id: 'b', remember: false, returnTo: odd }] })
  await prisma.oauthDenial.create({ data: { id: 'a', expiresAt: big } })
  await prisma.oauthStatusEntry.create({ data: { list: 0, idx: 131_071, claims: odd, expiresAt: big } })
  await prisma.passkeyChallenge.create({
    data: { ceremony: 'login', sessionHash: '', challenge: odd, expiresAt: later },
  })
  await prisma.sampleServer.create({ data: { id: big, name: odd, userId: user } })
  await prisma.sampleTask.create({ data: { title: odd } })
  await prisma.socialAccount.create({
    data: { userId: user, provider: 'google', providerId: '0001', name: odd, createdAt: date, updatedAt: later },
  })
  await prisma.emailChange.create({ data: { userId: user, oldEmail: 'a@b.example', newEmail: odd, ...dates } })
  await prisma.invitation.create({ data: { email: 'odd@example.com', tokenHash: 'a', role: odd, ...dates } })
  const rememberToken = { userId: user, tokenHash: 'a', lastUsedAt: date, ...dates }
  await prisma.rememberToken.create({ data: rememberToken })
  await prisma.outbox.create({
    data: { kind: 'none', payload: odd, availableAt: later, failedAt: date, createdAt: date },
  })
  await prisma.job.upsert({ where: { name: odd }, create: { name: odd, lastRunAt: date }, update: {} })
  await fillEmptyTables(svc, userId)
}

const anyValue = { text: odd, integer: '2147483647', boolean: '1', date: '-59001', bytes: '00ff' } as const

/** Writes a row into each table that has none yet. */
async function fillEmptyTables({ where }: TestApp, userId: number): Promise<void> {
  const engine = where.file ? 'sqlite' : 'postgresql'
  const connection = await openCopy({ engine, url: where.url, file: where.file ?? null })
  const tables = await connection.tables()
  await connection.beginWrite(tables)
  for (const table of tables) {
    const row = table.columns.map(({ name, kind }) => (name === 'user_id' ? String(userId) : anyValue[kind]))
    if ((await connection.count(table)) === 0) await connection.insert(table, [row])
  }
  await connection.commit()
  await connection.close()
}

/** All rows of all models, as the database client reads them; fails on a table without rows. */
export async function allRows(
  t: Test,
  { prisma }: Pick<TestApp['database'], 'prisma'>,
): Promise<Map<string, string[]>> {
  const rows = new Map<string, string[]>()
  for (const model of Object.keys(Prisma.ModelName)) {
    const name = model.charAt(0).toLowerCase() + model.slice(1)
    // Sound: the client has a property for each model.
    const delegate = (prisma as unknown as Record<string, { findMany(): Promise<object[]> }>)[name]
    const found = (await delegate?.findMany()) ?? []
    t.ok(found.length > 0, `${model} has rows`)
    const text = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)
    rows.set(model, found.map((row) => JSON.stringify(row, text)).sort())
  }
  return rows
}
