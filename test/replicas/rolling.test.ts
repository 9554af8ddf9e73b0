// engine: postgresql
import t, { type Test } from 'tap'
import { requestWithBearer, sendRequest } from '../support/remote.ts'
import { type Replicas, startReplicas } from '../support/replicas.ts'
import { pass } from '../support/until.ts'

const credentials = { email: 'ada@example.com', password: 'correct horse', device_name: 'Phone' }

/** Users of svc until they are stopped, with the answers by request. */
function use({ url }: Replicas, people: number) {
  const answers = new Map<string, number>()
  let isOver = false
  const note = async (name: string, asked: ReturnType<typeof sendRequest>) => {
    const answer = await asked
    const key = `${name} ${answer.statusCode}`
    answers.set(key, (answers.get(key) ?? 0) + 1)
    return answer
  }
  const go = async () => {
    while (!isOver) {
      const made = await note('login', sendRequest(url, { method: 'POST', url: '/svc/token', payload: credentials }))
      const { token = '' } = made.statusCode === 200 ? made.json() : {}
      for (let n = 0; n < 5; n++) {
        // With pauses between requests: a stopping replica must not take them for the end.
        await pass(Math.random() * 300)
        await note('user', requestWithBearer(url, token, '/api/user'))
      }
      await note('key set', sendRequest(url, { url: '/.well-known/jwks.json' }))
      await note('revocation', requestWithBearer(url, token, '/api/tokens/current', 'DELETE'))
    }
  }
  const all = Array.from({ length: people }, go)
  const stop = async () => {
    isOver = true
    await Promise.all(all)
    return answers
  }
  return { answers, stop }
}

async function start(t: Test): Promise<Replicas> {
  const replicas = await startReplicas(t, 2, () => ({ server: { drain: '2s' } }))
  await replicas.svc(['user:create', '--email=ada@example.com', '--name=Ada', '--verified'], credentials.password)
  return replicas
}

t.test('replaces every replica under load without a failed request', async (t) => {
  const replicas = await start(t)
  const load = use(replicas, 2)
  for (const old of [...replicas.all]) {
    const fresh = await replicas.add()
    const { code } = await old.stop()
    t.equal(code, 0)
    t.ok((replicas.balancer.sent.get(fresh.port) ?? 0) > 0, 'the new one received requests')
    t.notMatch(old.stdout(), /"level":"(error|fatal)"/)
  }
  const answers = await load.stop()
  t.same([...answers.keys()].sort(), ['key set 200', 'login 200', 'revocation 200', 'user 200'])
  t.ok((answers.get('login 200') ?? 0) > 1, `${answers.get('login 200')} logins`)
})
