// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/platform/database/database.ts'
import { openShell } from '../support/shell.ts'

t.test('says which stored values a changed configuration does not allow', async (t) => {
  const { run, database: where, cwd, env } = await openShell(t)
  const configure = (text: string) => writeFileSync(join(cwd, 'svc.yaml'), `app: { url: "${env.SVC_URL}" }\n${text}`)
  configure('')
  for (const name of ['a', 'b', 'c']) {
    const created = await run('a long enough password', 'user:create', `--email=${name}@example.com`, `--name=${name}`)
    t.equal(created.code, 0, created.stderr)
  }
  await run('', 'group:create', 'user')
  const database = await openDatabase({ engine: where.engine, url: where.url, file: where.file })
  t.teardown(() => database.close())
  const store = (email: string, attributes: string) =>
    database.prisma.user.update({ where: { email }, data: { attributes } })
  await store('a@example.com', '{"fields":{"team":"Sales and Support","old":1}}')
  await store('b@example.com', '{"fields":{"team":"Sales"}}')

  const fits = await run('', 'config:check', '--data')
  t.match(fits, { code: 1, stderr: 'users.fields has no old, which is stored for 1 user (id 1)' })
  t.match(fits.stderr, 'users.fields has no team, which is stored for 2 users (ids 1, 2)')
  t.match(fits.stdout, ': valid', 'the configuration itself is')
  configure(`
users:
  fields:
    old: { schema: { type: integer } }
    team: { schema: { type: string, maxLength: 5 }, write: [user], registration: required }
groups: { include_role: true }
registration: { role: member }
`)
  const found = await run('', 'config:check', '--data')
  t.equal(found.code, 1)
  t.strictSame(found.stderr.trim().split('\n'), [
    'users.fields.team.schema does not allow the value of 1 user (id 1)',
    'groups.include_role: "user" is a group, and the role of 3 users (ids 1, 2, 3)',
    'users.fields.team is required, and missing for 1 user (id 3)',
  ])
  t.equal((await run('', 'config:check')).code, 0, 'without --data it reads no user')
  configure(`
users:
  fields:
    old: { schema: { type: integer } }
    team: { schema: { type: string, maxLength: 20 } }
`)
  t.match(await run('', 'config:check', '--data'), { code: 0, stdout: /The stored data fits\./ })
})
