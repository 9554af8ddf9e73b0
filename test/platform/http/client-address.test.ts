// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'

const proxied = { server: { trust_proxy: ['10.0.0.0/8'] }, rate_limits: { login: '1/1h' } }

/** Sends a wrong password through a proxy with this `X-Forwarded-For`. */
const guess = async (svc: TestApp, email: string, forwarded: string, more: Record<string, string> = {}) =>
  (
    await svc.app.inject({
      method: 'POST',
      url: '/svc/token',
      remoteAddress: '10.0.0.1',
      headers: { 'x-forwarded-for': forwarded, ...more },
      payload: { email, password: 'wrong', device_name: 'd' },
    })
  ).statusCode

/** The addresses of the recorded failures, once there are this many: svc records them after the answer. */
async function recorded({ database }: TestApp, count: number): Promise<(string | null)[]> {
  const rows = () => database.prisma.event.findMany({ where: { type: 'login_failed' }, orderBy: { id: 'asc' } })
  await until(async () => (await rows()).reduce((sum, { repeats }) => sum + 1 + repeats, 0) >= count)
  return (await rows()).map(({ ipAddress }) => ipAddress)
}

const spellings: [string, string[]][] = [
  ['198.51.100.7', ['198.51.100.7:4711', '[::ffff:198.51.100.7]:1', '::ffff:198.51.100.7', '::ffff:c633:6407']],
  ['2001:db8::7', ['[2001:db8::7]:443', '[2001:db8::7]', '2001:DB8:0:0::7', '2001:0db8:0000:0000:0000:0000:0000:0007']],
]

for (const [address, others] of spellings) {
  t.test(`counts and records every spelling of ${address} as one address`, async (t) => {
    const svc = await buildTestApp(t, { settings: proxied })
    for (const [index, spelling] of [address, ...others].entries()) {
      t.equal(await guess(svc, `user${index}@example.com`, address), 422)
      t.equal(await guess(svc, `user${index}@example.com`, spelling), 429, spelling)
      t.equal(await guess(svc, `other${index}@example.com`, spelling), 422)
    }
    t.strictSame(new Set(await recorded(svc, 2 * (others.length + 1))), new Set([address]))
  })
}

t.test('ignores invalid forwarded values, and everything to their left', async (t) => {
  const svc = await buildTestApp(t, { settings: proxied })
  const { email } = await svc.createUser()
  t.equal(await guess(svc, email, '10.0.0.1'), 422)
  for (const text of [
    'unknown',
    'client-17',
    '_hidden',
    '<b>198.51.100.1</b>',
    '198.51.100.1:port',
    '198.51.100.1:123456',
    '198.51.100',
    '3325256711',
    '0x7f000001',
    '[198.51.100.1',
    '198.51.100.1/24',
    'for=198.51.100.1',
    '203.0.113.9, unknown',
    ', ,',
  ]) {
    t.equal(await guess(svc, email, text), 429, text)
  }
  t.equal(await guess(svc, email, 'nonsense, 198.51.100.1'), 422, 'hops to the right still count')
  t.strictSame(await recorded(svc, 2), ['10.0.0.1', '198.51.100.1'])
})

t.test('ignores the Forwarded header', async (t) => {
  const svc = await buildTestApp(t, { settings: proxied })
  const { email } = await svc.createUser()
  t.equal(await guess(svc, email, '198.51.100.1'), 422)
  for (const forwarded of ['for=203.0.113.1', 'for="[2001:db8::1]:443"', 'for=_x;by=10.0.0.1']) {
    t.equal(await guess(svc, email, '198.51.100.1', { forwarded }), 429)
  }
})
