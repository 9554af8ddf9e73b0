// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createToken } from '../../src/auth/tokens/store.ts'
import { findUserByEmail } from '../../src/identity/users.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { openShell } from '../support/shell.ts'

const api = 'https://api.example.com'
const file = `guard:
  rules:
    - { hosts: [api.example.com], paths: ["/public/*"], access: public }
    - hosts: [api.example.com]
      paths: ["/orders/*"]
      abilities: ["orders:read"]
    - { hosts: [api.example.com], paths: [/staff], roles: [staff] }
    - { name: chosen, networks: [10.0.0.0/8], access: public }
`

t.test('prints the decision of the guard, and the line of the rule', async (t) => {
  const shell = await openShell(t)
  writeFileSync(join(shell.cwd, 'svc.yaml'), file)
  Object.assign(shell.env, { SVC_CONFIG: 'svc.yaml' })
  const verdict = async (...words: string[]) => {
    const { code, stdout, stderr } = await shell.run('', 'guard:test', ...words)
    return `${code} ${stdout.trim()}${stderr}`
  }
  await shell.run('correct horse\n', 'user:create', '--email=ada@example.com', '--name=Ada', '--role=staff')
  const database = await openDatabase({ ...shell.database, url: shell.database.url })
  t.teardown(() => database.close())
  const ada = await findUserByEmail(database, 'ada@example.com')
  const facts = { userId: ada?.user.id ?? 0, name: 'x', expiresAt: null, prefix: '', now: Date.now() }
  const token = async (abilities: string[]) =>
    (await database.transaction((tx) => createToken(tx, { ...facts, abilities }))).plainTextToken

  t.equal(await verdict('GET', `${api}/public/x`), '0 allowed: 200 (guard.rules[0], line 3)')
  t.equal(await verdict('GET', `${api}/orders/1`), '1 denied: 401 Unauthenticated. (guard.rules[1], line 4)')
  t.equal(
    await verdict('GET', `${api}/orders/1`, '--token', await token(['orders:read'])),
    '0 allowed: 200 (guard.rules[1], line 4)',
  )
  t.equal(
    await verdict('GET', `${api}/orders/1`, '--token', await token(['other'])),
    '1 denied: 403 Invalid ability provided. (guard.rules[1], line 4)',
  )
  t.match(await verdict('GET', `${api}/orders/1`, '--token=1|wrong'), /^1 denied: 401/)
  t.equal(await verdict('GET', `${api}/staff`, '--user=ada@example.com'), '0 allowed: 200 (guard.rules[2], line 7)')
  t.match(await verdict('GET', `${api}/staff`, '--user=unknown@example.com'), /^1 denied: 401/)
  t.equal(await verdict('GET', `${api}/other`), '1 denied: 403 Forbidden (guard.default: deny)')
  t.equal(await verdict('GET', `${api}/other`, '--address=10.1.1.1'), '0 allowed: 200 (guard.rules[3], line 8)')
  t.equal(await verdict('GET', `${api}/other`, '--rule=chosen'), '0 allowed: 200 (guard.rules[3], line 8)')
  writeFileSync(join(shell.cwd, 'rules.yaml'), file)
  writeFileSync(join(shell.cwd, 'svc.yaml'), 'include: [rules.yaml]')
  t.equal(await verdict('GET', `${api}/public/x`), '0 allowed: 200 (guard.rules[0], rules.yaml:3)')
  t.match(await verdict('GET', `${api}/public/../orders/1`), /^1 denied: 400 The path matches different rules/)
  t.match(await verdict('get', `${api}/x`), /^1 denied: 400 The original method cannot be read/)
  t.match(await verdict('GET', 'api.example.com'), /^1 <url> must be a URL/)
})
