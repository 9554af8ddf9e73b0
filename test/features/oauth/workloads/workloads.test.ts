// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { matches } from '../../../../src/features/oauth/workloads/pattern.ts'
import { minute } from '../../../support/clock.ts'
import { Platform } from '../../../support/platform.ts'
import { travel } from '../../../support/time.ts'
import { assertion, basic, buildServer, credentials, newKey, post, secret } from '../clients/parties.ts'
import { ask, assertionType, by, job, outcome, start } from './jobs.ts'

t.test('gives a workload a token for the token of its platform, with client_id beside it', async (t) => {
  const platform = await Platform.start(t)
  const svc = await start(t, [{ issuer: platform.url, subject: 'job:*' }])
  const answer = await ask(svc, await platform.token())
  t.equal(answer.statusCode, 200, answer.body)
  const { access_token, scope } = answer.json()
  t.equal(scope, 'orders:read')
  t.match(decodeJwt(access_token), { sub: 'job', client_id: 'job', gty: 'client_credentials', workload: 'job:1' })
  t.match(svc.logs.join(''), /Client job authenticated by its platform: job:1/)
  const again = await platform.token()
  t.equal((await ask(svc, again)).statusCode, 200)
  t.equal((await ask(svc, again)).statusCode, 200, 'platforms reuse their tokens')
  const introspected = await post(svc, '/oauth/introspect', { ...by(again), token: access_token })
  t.match(introspected.json(), { active: true, client_id: 'job' }, 'also at other endpoints')
  t.equal((await post(svc, '/oauth/revoke', { ...by(again), token: access_token })).statusCode, 200)
  t.match((await post(svc, '/oauth/introspect', { ...by(again), token: access_token })).json(), { active: false })
})

t.test('gives a workload a token for one API in exchange for the token of its platform', async (t) => {
  const platform = await Platform.start(t)
  const orders = 'https://orders.example.com'
  const clients = [job([{ issuer: platform.url, subject: 'job:1' }], { grants: ['token_exchange'] })]
  const svc = await buildServer(t, clients, {
    settings: { scopes: {}, apis: { orders: { audience: orders, scopes: ['orders:read'] } } },
  })
  const exchange = async (more: Record<string, string> = {}) =>
    post(svc, '/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'job',
      subject_token: await platform.token(),
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      ...more,
    })
  const answer = await exchange({ resource: orders, scope: 'orders:read' })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), {
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'orders:read',
  })
  t.match(decodeJwt(answer.json().access_token), { aud: orders, sub: 'job', workload: 'job:1', scope: 'orders:read' })
  t.match(decodeJwt((await exchange({ audience: orders })).json().access_token), { aud: orders })
  const idToken = { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }
  t.equal((await exchange(idToken)).statusCode, 200)
  const refused: [Record<string, string>, string][] = [
    [{ subject_token: await platform.token({ sub: 'job:2' }) }, 'invalid_client'],
    [{ subject_token: 'x.y.z' }, 'invalid_client'],
    [{ resource: 'https://other.example' }, 'invalid_target'],
    [{ scope: 'svc:admin' }, 'invalid_scope'],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }, 'invalid_client'],
    [{ requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }, 'invalid_request'],
    [{ actor_token: 'x', actor_token_type: 'y' }, 'invalid_request'],
    [{ client_secret: 'x' }, 'invalid_client'],
  ]
  for (const [more, error] of refused)
    t.equal((await exchange(more)).json().error, error, JSON.stringify(more).slice(0, 80))
  const grant = await ask(svc, await platform.token())
  t.equal(grant.json().error, 'unauthorized_client', 'a grant that the client does not list')
})

t.test('refuses tokens of other issuers, audiences, workloads and times, and logs what differs', async (t) => {
  const platform = await Platform.start(t)
  const stranger = await Platform.start(t)
  const claims = { environment: 'production', team: 'ops-*', protected: true, tier: 3 }
  const svc = await start(t, [{ issuer: platform.url, subject: 'repo:acme/*:ref:refs/heads/main', claims }])
  const right = {
    sub: 'repo:acme/shop:ref:refs/heads/main',
    environment: 'production',
    team: 'ops-1',
    protected: true,
    tier: 3,
  }
  const at = () => Math.floor(Date.now() / 1000)
  t.equal(await outcome(svc, await platform.token(right)), 200)
  t.equal(await outcome(svc, await platform.token({ ...right, aud: ['http://localhost:8000'] })), 200, 'a list of one')
  const bad: [string, Record<string, unknown>, RegExp][] = [
    [
      'the aud of another service',
      { aud: 'https://other.example' },
      /aud is "https:\/\/other.example" instead of http:\/\/localhost:8000/,
    ],
    ['several audiences', { aud: ['http://localhost:8000', 'https://other.example'] }, /aud is \[/],
    ['no audience', { aud: undefined }, /aud/],
    ['another repository', { sub: 'repo:evil/shop:ref:refs/heads/main' }, /sub is "repo:evil.*instead of repo:acme/],
    ['a longer name', { sub: 'repo:acme/shop/x:ref:refs/heads/main' }, /sub is/],
    ['a part more', { sub: 'repo:acme/shop:environment:x:ref:refs/heads/main' }, /sub is/],
    ['another branch', { sub: 'repo:acme/shop:ref:refs/heads/main2' }, /sub is/],
    ['a line more', { sub: 'repo:acme/shop:ref:refs/heads/main\n' }, /sub is/],
    ['no subject', { sub: undefined }, /sub/],
    ['another environment', { environment: 'staging' }, /environment is "staging" instead of production/],
    ['a missing claim', { environment: undefined }, /environment is missing instead of production/],
    ['another pattern', { team: 'dev-1' }, /team is "dev-1" instead of ops-\*/],
    ['a text for a flag', { protected: 'true' }, /protected is "true" instead of true/],
    ['another number', { tier: 4 }, /tier is 4 instead of 3/],
    ['a list for a text', { environment: ['production'] }, /environment is/],
    ['an expired token', { exp: at() - 60 }, /it has expired/],
    ['no expiry', { exp: undefined }, /exp/],
    ['a token of the future', { iat: at() + 120, nbf: at() }, /iat is in the future/],
    ['a token that is not valid yet', { nbf: at() + 120 }, /nbf/],
    ['an old token', { iat: at() - 3_700, exp: at() + 3_600 }, /older than 3600 seconds \(max_age\)/],
    ['another issuer', { iss: stranger.url }, /its issuer is "http.*and the client trusts http/],
    ['no issuer', { iss: undefined }, /its issuer is missing/],
  ]
  for (const [name, claim, reason] of bad) {
    const answer = await ask(svc, await platform.token({ ...right, ...claim }))
    t.match([answer.statusCode, answer.json().error], [401, 'invalid_client'], name)
    t.equal(answer.json().error_description, 'The token of the workload was refused. The log of svc says why.')
    const line = svc.logs.findLast((text) => text.includes('Token of a workload refused')) ?? '{}'
    t.match(JSON.parse(line), { client: 'job', reason, config_key: 'clients[client_id=job].federated' }, name)
  }
})

t.test('accepts only keys and algorithms of the issuer', async (t) => {
  const platform = await Platform.start(t)
  const stranger = await Platform.start(t)
  const svc = await start(t, [{ issuer: platform.url, subject: 'job:1' }])
  const [key] = platform.keys
  const [foreign] = stranger.keys
  const token = await platform.token()
  t.equal(await outcome(svc, token), 200)
  t.match(
    await outcome(svc, await platform.token({}, { kid: 'first' }, foreign)),
    /signature is invalid/,
    'another key',
  )
  t.match(await outcome(svc, await platform.token({}, { kid: 'unknown' })), /no such key/)
  t.match(await outcome(svc, `${token.slice(0, -6)}AAAAAA`), /signature is invalid/)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const none = `${part({ alg: 'none', typ: 'JWT' })}.${token.split('.')[1]}.`
  t.not((await ask(svc, none)).statusCode, 200, 'alg none')
  const { createHmac } = await import('node:crypto')
  const signed = `${part({ alg: 'HS256', typ: 'JWT', kid: 'first' })}.${token.split('.')[1]}`
  const mac = createHmac('sha256', JSON.stringify(key?.jwk)).update(signed).digest('base64url')
  t.match(
    await outcome(svc, `${signed}.${mac}`),
    /algorithm is not accepted/,
    'a symmetric algorithm with the public key',
  )
  const own = await newKey('ES256')
  const inline = await platform.token(
    {},
    { kid: undefined, jwk: own.jwk },
    { privateKey: own.privateKey as never, jwk: own.jwk as never },
  )
  t.not((await ask(svc, inline)).statusCode, 200, 'a key in the header')
  t.match(
    (await ask(svc, (await assertion(own, 'job')).client_assertion ?? '')).statusCode,
    401,
    'an assertion of the client itself',
  )
})

t.test('authenticates no other client, and only by one way', async (t) => {
  const platform = await Platform.start(t)
  const svc = await start(t, [{ issuer: platform.url, subject: 'job:1' }])
  const token = await platform.token()
  const requests: [string, Record<string, string>, Record<string, string>][] = [
    ['another client', by(token, 'other-job'), {}],
    ['an unknown client', by(token, 'nobody'), {}],
    ['no client_id', { client_assertion: token, client_assertion_type: assertionType }, {}],
    ['another type', { ...by(token), client_assertion_type: 'x' }, {}],
    ['a secret as well', { ...by(token), client_secret: 'x' }, {}],
    ['a header as well', by(token), basic('job', 'x')],
    ['the placeholder of svc', { client_id: 'job', client_secret: '-' }, {}],
    ['the placeholder in the header', {}, basic('job', '-')],
    ['no token', { client_id: 'job' }, {}],
  ]
  for (const [name, fields, headers] of requests) {
    const answer = await post(svc, '/oauth/token', { ...credentials, ...fields }, headers)
    t.ok([400, 401].includes(answer.statusCode), `${name}: ${answer.statusCode} ${answer.body}`)
    t.equal(answer.json().access_token, undefined, name)
  }
  const twice: [string, string][] = [...Object.entries({ ...credentials, ...by(token) }), ['client_id', 'job']]
  t.equal((await post(svc, '/oauth/token', twice)).json().access_token, undefined, 'a repeated client_id')
})

t.test('lets a client keep its secret while it moves to its platform', async (t) => {
  const platform = await Platform.start(t)
  const method = { token_endpoint_auth_method: 'client_secret_basic', secret }
  const svc = await start(t, [{ issuer: platform.url, subject: 'job:1' }], method)
  t.equal((await post(svc, '/oauth/token', credentials, basic('job', secret))).statusCode, 200)
  t.equal((await ask(svc, await platform.token())).statusCode, 200)
})

t.test('limits failed tokens of a client by address', async (t) => {
  const platform = await Platform.start(t)
  const svc = await buildServer(t, [job([{ issuer: platform.url, subject: 'job:1' }])], {
    settings: { rate_limits: { token: '3/1m' } },
  })
  const [wrong, right] = [await platform.token({ sub: 'job:2' }), await platform.token()]
  for (let count = 0; count < 3; count++) t.equal((await ask(svc, wrong)).statusCode, 401)
  t.equal((await ask(svc, right)).statusCode, 429, 'also with a valid token')
  travel(svc, minute)
  t.equal((await ask(svc, right)).statusCode, 200)
})

t.test('matches patterns part by part', async (t) => {
  const cases: [string, string, boolean][] = [
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/shop:ref:refs/heads/main', true],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/:ref:refs/heads/main', true],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/a:b:ref:refs/heads/main', false],
    ['a*c', 'abc', true],
    ['a*c', 'a/c', false],
    ['a.c', 'abc', false],
    ['a*', 'a\n', true],
    ['(a|b)+', 'a', false],
    ['(a|b)+', '(a|b)+', true],
    ['*-prod-*', 'x-prod-y', true],
    ['A', 'a', false],
  ]
  for (const [pattern, text, expected] of cases) t.equal(matches(pattern, text), expected, `${pattern} ${text}`)
})
