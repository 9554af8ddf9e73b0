// engine: none
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { buildTestApp } from '../../../support/app.ts'
import { openShell } from '../../../support/shell.ts'
import { stopTime } from '../../../support/time.ts'

const secret = 'a-secret-that-is-long-enough'
const more = { type: 'confidential', grants: ['client_credentials'], scopes: ['orders:read'] }

t.test('lists the permissions of each client with client:list, without secrets', async (t) => {
  const { run, cwd } = await openShell(t)
  t.equal((await run('', 'client:list')).stdout, '')
  const hash = `sha256:${'ab'.repeat(32)}`
  const clients = [
    { client_id: 'machine', name: 'Ünïcode "quoted"\n', secret, ...more },
    { client_id: 'hashed', secret_hash: hash, ...more },
    { client_id: 'spa', type: 'public', redirect_uris: ['https://spa.example/cb'], grants: ['authorization_code'] },
  ]
  mkdirSync(join(cwd, 'config'))
  writeFileSync(
    join(cwd, 'config/svc.yaml'),
    stringify({ scopes: { 'orders:read': 'See orders' }, clients }, { aliasDuplicateObjects: false }),
  )
  const { stdout, code, stderr } = await run('', 'svc:client:list')
  t.equal(code, 0, stderr)
  const lines = stdout.trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { client_id: 'machine', name: 'Ünïcode "quoted"\n', authentication: 'client_secret_basic', type: 'confidential' },
      { client_id: 'hashed', grants: ['client_credentials'], scopes: ['orders:read'] },
      { client_id: 'spa', name: 'spa', authentication: 'none', redirect_uris: ['https://spa.example/cb'] },
    ],
  )
  for (const hidden of [secret, hash, 'ab'.repeat(8)]) t.notOk(stdout.includes(hidden))
})

t.test('prints a new secret and its hash on each client:secret', async (t) => {
  const { run } = await openShell(t)
  const made = [await run('', 'client:secret'), await run('', 'client:secret')].map(({ stdout }) => ({
    secret: /only once\): ([\w-]{43})\n/.exec(stdout)?.[1] ?? '',
    hash: /secret_hash: (sha256:[0-9a-f]{64})\n/.exec(stdout)?.[1] ?? '',
  }))
  t.not(made[0]?.secret, made[1]?.secret)
  for (const { secret: client_secret, hash: secret_hash } of made) {
    const settings = {
      scopes: { 'orders:read': 'See orders' },
      clients: [{ client_id: 'machine', secret_hash, ...more }],
    }
    const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
    const ask = (fields: object) =>
      svc.app.inject({
        method: 'POST',
        url: '/oauth/token',
        payload: { grant_type: 'client_credentials', client_id: 'machine', ...fields },
      })
    t.equal((await ask({ client_secret })).statusCode, 200)
    t.equal((await ask({ client_secret: secret_hash })).statusCode, 401, 'the hash is not accepted as a secret')
  }
})
