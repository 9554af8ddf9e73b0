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
