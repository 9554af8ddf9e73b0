// engine: none
import t from 'tap'
import { Metrics } from '../../../src/platform/observability/metrics/metrics.ts'

/** The samples of one metric after these events. */
async function samples(name: string, events: Parameters<Metrics['event']>[]): Promise<string[]> {
  const metrics = new Metrics({ version: '1' })
  for (const event of events) metrics.event(...event)
  const lines = (await metrics.text()).split('\n')
  return lines.filter((line) => line.startsWith(`${name}{`)).map((line) => line.slice(name.length))
}

t.test('counts each security event as one attempt to sign in at its entry point', async (t) => {
  const cases: [Parameters<Metrics['event']>, string | null][] = [
    [['login', { channel: 'login', method: 'password' }], '{channel="login",outcome="succeeded"} 1'],
    [['login', { method: 'passkey' }], '{channel="passkey",outcome="succeeded"} 1'],
    [['login', {}], '{channel="other",outcome="succeeded"} 1'],
    [['login_remembered', { channel: 'login' }], '{channel="remembered",outcome="succeeded"} 1'],
    [['login_failed', { channel: 'token' }], '{channel="token",outcome="failed"} 1'],
    [['lockout', { channel: 'login' }], '{channel="login",outcome="locked_out"} 1'],
    [['two_factor_challenged', { channel: 'login' }], '{channel="login",outcome="second_factor_needed"} 1'],
    [['two_factor_failed', { channel: 'challenge' }], '{channel="challenge",outcome="second_factor_failed"} 1'],
    [['token_created', { channel: 'token', token_id: 1 }], '{channel="token",outcome="succeeded"} 1'],
    [['token_created', { token_id: 1 }], null],
    [['password_reset', { channel: 'login' }], null],
  ]
  for (const [event, expected] of cases) {
    t.same(await samples('svc_logins_total', [event]), expected === null ? [] : [expected], JSON.stringify(event))
    t.same(await samples('svc_security_events_total', [event, event]), [`{event="${event[0]}"} 2`])
  }
})

t.test('counts a created token by its way of authentication', async (t) => {
  const name = 'svc_tokens_issued_total'
  t.same(await samples(name, [['token_created', { channel: 'token' }]]), ['{kind="api_token",grant="sign_in"} 1'])
  t.same(await samples(name, [['token_created', {}]]), ['{kind="api_token",grant="created"} 1'])
  t.same(await samples(name, [['token_revoked', {}]]), [])
})

t.test('omits a gauge that cannot be read', async (t) => {
  const metrics = new Metrics({ version: '1' })
  let isBroken = false
  const read = (labels?: Record<string, string>) => (set: (value: number, labels?: Record<string, string>) => void) => {
    set(3, labels)
    if (isBroken) throw new Error('the database is away')
  }
  metrics.gauge('plain', 'Without labels.', [], read())
  metrics.gauge('labelled', 'With a label.', ['kind'], (set) => {
    if (isBroken) throw new Error('the database is away')
    set(5, { kind: 'mail' })
  })
  const values = async () => (await metrics.text()).split('\n').filter((line) => /^(plain|labelled)\b/.test(line))
  t.same(await values(), ['plain 3', 'labelled{kind="mail"} 5'])
  isBroken = true
  t.notOk((await values()).some((line) => line.startsWith('labelled')))
  isBroken = false
  t.same(await values(), ['plain 3', 'labelled{kind="mail"} 5'])
})

t.test('counts passwords, answers, verdicts, lookups and token requests with their labels', async (t) => {
  const metrics = new Metrics({ version: '1.2.3', node: '24' })
  metrics.request('GET', '/a', 200, 0.3)
  metrics.verdict('hybrid', 'none', 0.002)
  metrics.lookup('session', 7, 0.002)
  metrics.hashed(0.2, 0.04)
  metrics.hashingRefused()
  metrics.token('id_token', 'authorization_code')
  metrics.tokenRefused('refresh_token', 'invalid_grant')
  const text = await metrics.text()
  for (const line of [
    'svc_build_info{version="1.2.3",node="24"} 1',
    'svc_http_request_duration_seconds_sum{method="GET",route="/a",status="200"} 0.3',
    'svc_authentication_duration_seconds_sum{family="hybrid",verdict="none"} 0.002',
    'svc_lookup_duration_seconds_sum{lookup="session"} 0.002',
    'svc_lookup_batch_size_sum{lookup="session"} 7',
    'svc_hashing_wait_seconds_sum 0.2',
    'svc_hashing_duration_seconds_sum 0.04',
    'svc_hashing_refused_total 1',
    'svc_tokens_issued_total{kind="id_token",grant="authorization_code"} 1',
    'svc_token_requests_refused_total{grant="refresh_token",error="invalid_grant"} 1',
  ])
    t.ok(text.split('\n').includes(line), line)
})
