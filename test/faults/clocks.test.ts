// engine: postgresql
import t from 'tap'
import { oauthSettings, Person, redeem, refresh, request, response, revoke } from '../support/oauth.ts'
import type { Running } from '../support/process.ts'
import { remoteApp, remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { startReplicas } from '../support/replicas.ts'
import { writer } from './writers.ts'

const seconds = 1_000

t.test('tolerates replicas with different clocks', async (t) => {
  const replicas = await startReplicas(t, 1, () => JSON.parse(JSON.stringify(oauthSettings)))
  const [right, near, ahead, behind] = [
    ...replicas.all,
    ...(await Promise.all([20 * seconds, 300 * seconds, -300 * seconds].map((offBy) => replicas.add(offBy)))),
  ]
  if (!right || !near || !ahead || !behind) throw new Error('one is missing')
  const all = [right, near, ahead, behind]
  await replicas.svc(['user:create', `--email=${writer.email}`, '--name=Ada', '--verified'], writer.password)
  const everywhere = (token: string) =>
    Promise.all(all.map(async ({ url }) => (await requestWithBearer(url, token, '/api/user')).statusCode))

  await t.test('accepts and revokes consistently on every replica', async (t) => {
    for (const { url } of all) {
      const payload = { ...writer, device_name: 'Phone' }
      const { token } = (await sendRequest(url, { method: 'POST', url: '/svc/token', payload })).json()
      t.same(await everywhere(token), [200, 200, 200, 200])
      await requestWithBearer(url, token, '/api/tokens/current', 'DELETE')
      t.same(await everywhere(token), [401, 401, 401, 401])
    }
  })

  const at = ({ url }: Running) => ({ app: remoteApp(url) })
  const codeOf = async ({ url }: Running) => {
    const browser = remoteBrowser(url, { origin: replicas.url, url: replicas.url, xsrf: false })
    const stop = await new Person(browser, writer.email, replicas.url).allow(request('web', { scope: 'openid' }))
    return response(stop).code ?? ''
  }

  await t.test(
    'tolerates half a minute; a code of one minute is expired on a clock that is five minutes ahead',
    async (t) => {
      const pairs: [string, Running, Running, number][] = [
        ['right, near', right, near, 200],
        ['near, right', near, right, 200],
        ['right, ahead', right, ahead, 400],
        ['behind, right', behind, right, 400],
        ['ahead, right', ahead, right, 200],
        ['right, behind', right, behind, 200],
      ]
      for (const [name, here, there, expected] of pairs) {
        const answer = await redeem(at(there), 'web', await codeOf(here))
        t.equal(answer.statusCode, expected, `${name}: ${answer.body.slice(0, 80)}`)
        if (expected !== 200) continue
        const { access_token, refresh_token } = answer.json()
        t.same(await everywhere(access_token), [200, 200, 200, 200])
        const uses = []
        for (const each of [there, ...all]) uses.push((await refresh(at(each), 'web', refresh_token)).statusCode)
        t.equal(uses[0], 200)
        t.ok(
          uses.slice(1).includes(400),
          'treats a repetition as theft despite minutes of difference, but never a first use',
        )
        await revoke(at(here), 'web', access_token)
        t.same(await everywhere(access_token), [401, 401, 401, 401])
      }
    },
  )

  t.test('warns on each replica about its clock and the difference, without an error', async (t) => {
    for (const one of [near, ahead, behind]) await one.printed(/the clock differs from the database clock/)
    t.notMatch(right.stdout(), 'the clock differs from the database clock')
    for (const { stdout } of all) t.notMatch(stdout(), /"level":"(error|fatal)"/)
  })
})
