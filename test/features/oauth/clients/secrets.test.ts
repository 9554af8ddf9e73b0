// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { secretHash } from '../../../../src/features/oauth/clients/clients.ts'
import { pruneSecretUses } from '../../../../src/features/oauth/clients/secret-store.ts'
import { day } from '../../../support/clock.ts'
import { runCommandOn } from '../../../support/command.ts'
import { Scrape } from '../../../support/metrics.ts'
import { freePort } from '../../../support/port.ts'
import { temporaryDirectory } from '../../../support/process.ts'
import { travel } from '../../../support/time.ts'
import { until } from '../../../support/until.ts'
import { basic, buildServer, credentials, machine, post, secret } from './parties.ts'

const odd = ': +%&=/"\\~ and more'

t.test('accepts a secret however it is configured and sent', async (t) => {
  const file = join(temporaryDirectory(t), 'secret')
  writeFileSync(file, 'a-secret-in-a-file\n')
  const svc = await buildServer(
    t,
    [
      machine('plain'),
      machine('hashed', { secret_hash: secretHash('only-its-hash-is-known') }),
      machine('from-env', { secret: '$' + '{ROBOT_SECRET}' }),
      machine('from-file', { secret: { file } }),
      machine('basic', { secret, token_endpoint_auth_method: 'client_secret_basic' }),
      machine('post', { secret, token_endpoint_auth_method: 'client_secret_post' }),
      machine('odd+id:%20/&', { secret: odd }),
      { client_id: 'open', type: 'public', grants: ['device_code'] },
    ],
    { env: { ROBOT_SECRET: 'a-secret-of-the-environment' } },
  )
  const byBasic = (id: string, password: string) => post(svc, '/oauth/token', credentials, basic(id, password))
  const byPost = (id: string, password: string) =>
    post(svc, '/oauth/token', { ...credentials, client_id: id, client_secret: password })
  const secrets: [string, string][] = [
    ['plain', secret],
    ['hashed', 'only-its-hash-is-known'],
    ['from-env', 'a-secret-of-the-environment'],
    ['from-file', 'a-secret-in-a-file'],
  ]
  for (const [id, password] of secrets) {
    t.equal((await byBasic(id, password)).statusCode, 200, `${id} by Basic`)
    t.equal((await byPost(id, password)).statusCode, 200, `${id} by form`)
  }
  t.equal((await byBasic('odd+id:%20/&', odd)).statusCode, 200, 'encoded as RFC 6749 section 2.3.1 says')
  t.equal((await byPost('odd+id:%20/&', odd)).statusCode, 200)
  const json = await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    payload: { ...credentials, client_id: 'plain', client_secret: secret },
  })
  t.equal(json.statusCode, 200, 'as JSON')

  t.equal((await byBasic('basic', secret)).statusCode, 200)
  t.equal((await byPost('post', secret)).statusCode, 200)
  const hash = secretHash(secret)
  const refused = [
    await byPost('basic', secret),
    await byBasic('post', secret),
    await byBasic('plain', 'wrong'),
    await byBasic('plain', `${secret} `),
    await byBasic('plain', hash),
    await byBasic('hashed', secretHash('only-its-hash-is-known')),
    await byBasic('unknown', secret),
    await byPost('unknown', secret),
    await byPost('svc-personal', 'undefined'),
    await byBasic('svc-first-party', 'undefined'),
    await post(svc, '/oauth/token', { ...credentials, client_id: 'plain' }),
    await post(svc, '/oauth/token', { ...credentials, client_id: 'plain', client_secret: '' }),
    await byBasic('open', secret),
  ]
  for (const answer of refused) {
    t.equal(answer.statusCode, 401)
    t.same(answer.json(), { error: 'invalid_client', error_description: 'client authentication failed' }, 'no hint')
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  t.match(refused[2]?.headers['www-authenticate'], /^Basic realm="http:\/\/localhost:8000"/)
  t.notOk(svc.logs.some((line) => line.includes(secret) || line.includes(hash)))
})

t.test('requires exactly one well-formed authentication method', async (t) => {
  const svc = await buildServer(t, [machine('plain'), machine('other')])
  const both = { ...credentials, client_id: 'plain', client_secret: secret }
  const assertion = {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: 'a.b.c',
  }
  const bad: [Record<string, string> | [string, string][], Record<string, string>][] = [
    [both, basic('plain', secret)],
    [{ ...both, ...assertion }, {}],
    [{ ...credentials, ...assertion }, basic('plain', secret)],
    [{ ...credentials, ...assertion }, {}],
    [{ ...credentials, client_assertion: 'x' }, {}],
    [{ ...credentials, client_id: 'other' }, basic('plain', secret)],
    [[...Object.entries(both), ['client_secret', secret]], {}],
    [[...Object.entries(both), ['client_id', 'plain']], {}],
    [credentials, {}],
    [credentials, basic('plain', '')],
    [credentials, { authorization: 'Basic !!!' }],
    [credentials, { authorization: `Basic ${Buffer.from('plain').toString('base64')}` }],
    [credentials, { authorization: `Basic ${Buffer.from('plain:%zz').toString('base64')}` }],
    [credentials, { authorization: `Bearer ${secret}` }],
  ]
  for (const [fields, headers] of bad) {
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par']) {
      const answer = await post(svc, path, fields, headers)
      t.same([answer.statusCode, answer.json().error], [400, 'invalid_request'], `${path} ${JSON.stringify(fields)}`)
    }
  }
  const query = await post(svc, `/oauth/token?client_id=plain&client_secret=${secret}`, credentials)
  t.equal(query.statusCode, 400, 'a secret in the URL is ignored')
})

t.test('limits failures by client and address, at all endpoints together', async (t) => {
  const clients = [machine('a'), machine('b'), { client_id: 'open', type: 'public', grants: ['device_code'] }]
  const settings = { rate_limits: { token: '5/1m' } }
  const svc = await buildServer(t, clients, { settings })
  const guess = (path: string, id = 'a', password = 'wrong', ip?: string) =>
    post(svc, path, { ...credentials, token: 'x' }, basic(id, password), ip)
  for (let n = 0; n < 20; n++) t.equal((await guess('/oauth/token', 'a', secret)).statusCode, 200)
  for (const path of ['token', 'introspect', 'revoke', 'par', 'device/code']) {
    t.equal((await guess(`/oauth/${path}`)).statusCode, 401, path)
  }
  for (const path of ['token', 'introspect', 'revoke', 'par', 'device/code']) {
    const answer = await guess(`/oauth/${path}`)
    t.equal(answer.statusCode, 429, path)
    t.same(answer.json(), {
      error: 'temporarily_unavailable',
      error_description: 'Too many failed client authentications.',
    })
    t.ok(Number(answer.headers['retry-after']) > 50 && Number(answer.headers['retry-after']) <= 60)
  }
  t.equal((await guess('/oauth/token', 'a', secret)).statusCode, 429, 'a valid secret is rejected too')
  t.equal((await guess('/oauth/token', 'b', secret)).statusCode, 200, 'another client is not affected')
  t.equal((await guess('/oauth/token', 'a', secret, '198.51.100.8')).statusCode, 200, 'nor is another address')
  for (let n = 0; n < 5; n++) t.equal((await guess('/oauth/token', `unknown${n}`)).statusCode, 401)
  t.equal((await guess('/oauth/token', 'nobody6')).statusCode, 429, 'unknown names count as one')
  t.equal((await guess('/oauth/token', 'b', secret)).statusCode, 200)
  for (let n = 0; n < 5; n++) t.equal((await guess('/oauth/token', 'open')).statusCode, 401, 'another method')
  t.equal((await post(svc, '/oauth/device/code', { client_id: 'open' })).statusCode, 429)

  const replica = await buildServer(t, clients, { settings, database: svc.where, clock: svc.clock })
  const there = () => post(replica, '/oauth/token', credentials, basic('a', 'wrong'))
  t.equal((await there()).statusCode, 429, 'every replica counts the same')
  t.equal((await post(replica, '/oauth/token', credentials, basic('a', secret))).statusCode, 429)

  svc.clock.advance(61_000)
  t.equal((await guess('/oauth/token', 'a', secret)).statusCode, 200, 'until the window ends')
  for (let n = 0; n < 4; n++) await guess('/oauth/token')
  t.equal((await guess('/oauth/token', 'a', secret)).statusCode, 200)
  t.equal((await guess('/oauth/token', 'a', secret)).statusCode, 200, 'a success does not count')
  const parallel = await Promise.all(Array.from({ length: 20 }, () => guess('/oauth/token', 'a', secret)))
  t.same([...new Set(parallel.map(({ statusCode }) => statusCode))], [200], 'nor do parallel ones')
})

t.test('answers no more than the limit of concurrent guesses', async (t) => {
  const svc = await buildServer(t, [machine('a')], { settings: { rate_limits: { token: '5/1m' } } })
  await post(svc, '/oauth/token', credentials, basic('a', secret), '198.51.100.9')
  const guesses = Array.from({ length: 40 }, (_, n) => (n === 39 ? secret : `wrong${n}`))
  const answers = await Promise.all(
    guesses.map((password) => post(svc, '/oauth/token', credentials, basic('a', password))),
  )
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 401).length, 5)
  t.equal(statuses.at(-1), 429, 'the valid one among them came too late')
  const free = await buildServer(t, [machine('a')], { settings: { rate_limits: { token: null } } })
  for (let n = 0; n < 70; n++) {
    const answer = await post(free, '/oauth/token', credentials, basic('a', 'wrong'))
    if (answer.statusCode !== 401) t.fail(`${answer.statusCode} without a limit`)
  }
})

t.test('accepts each secret of a list, and says which one is still used', async (t) => {
  const [newest, older, oldest] = ['the-newest-secret-of-all', 'an-older-secret-of-it', 'the-oldest-secret-of-it']
  const file = join(temporaryDirectory(t), 'secrets')
  writeFileSync(file, `${newest}, ${older}\n`)
  const clients = [
    machine('list', { secret: [newest, older, oldest] }),
    machine('hashes', { secret_hash: [newest, older].map(secretHash) }),
    machine('file', { secret: { file } }),
    machine('one', { secret: [newest] }),
  ]
  const port = await freePort()
  const svc = await buildServer(t, clients, { settings: { metrics: { port }, server: { host: '127.0.0.1' } } })
  const status = async (id: string, password: string, more: Record<string, string> = {}) =>
    (await post(svc, '/oauth/token', { ...credentials, ...more }, basic(id, password))).statusCode
  const right: [string, string][] = [
    ['list', newest],
    ['list', older],
    ['list', oldest],
    ['hashes', older],
    ['file', newest],
    ['file', older],
    ['one', newest],
  ]
  for (const [id, password] of right) {
    t.equal(await status(id, password), 200, `${id} ${password}`)
    // An empty field takes the way through the library.
    t.equal(await status(id, password, { resource: '' }), 200, `${id} ${password}`)
    const introspection = await post(svc, '/oauth/introspect', { token: 'x' }, basic(id, password))
    t.equal(introspection.statusCode, 200)
  }
  for (const wrong of ['x', `${newest},${older}`, [newest, older, oldest].join(','), secretHash(newest)]) {
    t.equal(await status('list', wrong), 401, wrong)
  }
  t.equal(await status('one', older), 401, 'a secret of another client')

  const { text } = await Scrape.of(port)
  t.match(text, /svc_client_secret_uses_total\{client="list",secret="newest"\} 3/)
  t.match(text, /svc_client_secret_uses_total\{client="list",secret="older"\} 6/)
  t.notMatch(text, /client="one"/, 'a client with one secret is not counted')
  const shown = async (id: string) => JSON.parse((await runCommandOn(svc, 'client:show', id)).join(''))
  const secrets = async (id: string) => (await shown(id)).secrets
  const used = /^20\d\d-/
  await until(async () => (await secrets('list')).every((one: { last_used_at: string }) => one.last_used_at))
  t.match(
    await secrets('list'),
    [1, 2, 3].map((place) => ({ place, last_used_at: used })),
  )
  t.match(await secrets('hashes'), [{ last_used_at: null }, { last_used_at: used }], 'only the older one is used')
  t.same(await secrets('one'), [])
  const { prisma } = svc.database
  t.notMatch(
    JSON.stringify(await prisma.oauthSecretUse.findMany(), (_, value) => String(value)),
    secretHash(newest).slice(7),
  )
  travel(svc, 401 * day)
  await pruneSecretUses(svc.database, svc.clock.now())
  t.equal(await prisma.oauthSecretUse.count(), 0)
})
