import t from 'tap'
import { pruneUsedOnce } from '../../../src/auth/access/used-once.ts'
import { newKey, proof } from '../../features/oauth/clients/parties.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { basic, oauthSettings } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

const settings: Settings = oauthSettings
const key = await newKey('ES256')
const machine = { grant_type: 'client_credentials', scope: 'orders:read' }

async function status({ app }: TestApp, dpop: string): Promise<number> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basic('machine'), dpop }
  const payload = new URLSearchParams(machine).toString()
  return (await app.inject({ method: 'POST', url: '/oauth/token', headers, payload })).statusCode
}

t.test('rejects keys that were used before the upgrade', async (t) => {
  const clock = stopTime(t)
  const old = await buildTestApp(t, { settings, clock })
  const used = await proof(key, 'POST', '/oauth/token')
  t.equal(await status(old, used), 200)
  const { prisma } = old.database
  // Restores the schema of the previous version, which stored used keys as records of the OAuth server.
  await prisma.$executeRaw`INSERT INTO oauth_records (id, kind, payload, expires_at)
    SELECT id, 'ReplayDetection', '{}', expires_at FROM used_once`
  await prisma.$executeRaw`DROP TABLE used_once`
  await prisma.$executeRaw`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_access_used_once'`
  await old.app.close()

  const svc = await buildTestApp(t, { settings, clock, database: old.where })
  t.equal(await svc.database.prisma.usedOnce.count(), 1)
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: 'ReplayDetection' } }), 0)
  t.equal(await status(svc, used), 400)
  t.equal(await status(svc, await proof(key, 'POST', '/oauth/token')), 200)
})

t.test('deletes used keys after they expired', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const used = await proof(key, 'POST', '/oauth/token')
  t.equal(await status(svc, used), 200)
  svc.clock.advance(9 * minute)
  await pruneUsedOnce(svc.database, svc.clock.now())
  t.equal(await svc.database.prisma.usedOnce.count(), 1, 'keeps those that have not')
  svc.clock.advance(3 * minute)
  const expired = new Date(svc.clock.now())
  await svc.database.prisma.usedOnce.createMany({
    data: Array.from({ length: 1_200 }, (_, index) => ({ id: `expired-${index}`, expiresAt: expired.getTime() - 1 })),
  })
  await pruneUsedOnce(svc.database, svc.clock.now())
  t.equal(await svc.database.prisma.usedOnce.count(), 0)
})
