// engine: postgresql
import t, { type Test } from 'tap'
import { token } from '../support/oauth.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'
import { accountJourneys } from './account-journeys.ts'
import { oauthJourneys } from './oauth-journeys.ts'
import { type Site, start } from './site.ts'

/** A manual rotation is published by both replicas, and neither signs with the new key early. */
async function rotation(t: Test, site: Site, before: string): Promise<void> {
  const sets = () =>
    Promise.all(
      site.all.map(async ({ url }) => {
        const { keys } = (await sendRequest(url, { url: '/.well-known/jwks.json' })).json()
        return keys.map(({ kid }: { kid: string }) => kid) as string[]
      }),
    )
  await until(async () => (await sets()).every((kids) => kids.length >= 6))
  const [here, there] = await sets()
  t.equal(here?.length, 6, 'every algorithm has a next key')
  t.same(here?.toSorted(), there?.toSorted())
  for (let n = 0; n < 4; n++) t.equal(await signerOf(site), before)
}

async function signerOf(site: Site): Promise<string> {
  const { access_token } = (await token(site, 'machine', { grant_type: 'client_credentials' })).json()
  return JSON.parse(Buffer.from(access_token.split('.')[0], 'base64url').toString()).kid
}

for (const withRedis of [false, true]) {
  t.test(
    `completes every journey with each request at another replica, ${withRedis ? 'with' : 'without'} Redis`,
    async (t) => {
      if (withRedis && !hasRedis(t)) return
      const site = await start(t, withRedis ? { redis: { url: (await startRedis(t)).url } } : {})
      const signer = await signerOf(site)
      if (!withRedis) await site.svc(['keys:rotate'])
      accountJourneys(t, site)
      oauthJourneys(t, site)
      // Tests that do not involve Redis run once.
      if (!withRedis) await t.test('rotates keys', (t) => rotation(t, site, signer))
      const [a = 0, b = 0] = site.all.map(({ port }) => site.balancer.sent.get(port))
      t.ok(Math.abs(a - b) <= 1, `${a} and ${b} requests`)
      for (const { stdout } of site.all) t.notMatch(stdout(), /"level":"(error|fatal)"/, 'no internal error was logged')
    },
  )
}
