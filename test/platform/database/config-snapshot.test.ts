import { tmpdir } from 'node:os'
import t from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { deriveCipher } from '../../../src/platform/crypto/keys.ts'
import { findSnapshot, keepSnapshot } from '../../../src/platform/database/config-snapshot.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { createTestDatabase } from '../../support/postgresql.ts'

const parse = (text: string) => parseConfig({ text, file: 'svc.yaml', env: {}, cwd: tmpdir() }).settings
const secret = 'the-secret-of-the-tests-is-32-bytes-long'
const text = (name: string) => `
app: { name: ${name}, secret: [${secret}, an-older-secret-of-more-than-32-bytes] }
mail: { url: "smtp://user:mail-password@mail.example.com" }
clients: [{ client_id: a, type: confidential, secret: client-secret-in-plain-text, grants: [client_credentials] }]
social: { acme: { issuer: "https://acme.example", client_id: a, client_secret: social-secret-in-plain } }
`

t.test('stores the last settings encrypted, and hashes of secrets only', async (t) => {
  const where = await createTestDatabase()
  const database = await openDatabase(where)
  t.teardown(async () => {
    await database.close()
    await where.drop()
  })
  t.equal(await findSnapshot(database, [secret]), null)
  await keepSnapshot(database, [secret], parse(text('One')), Date.parse('2026-01-01T00:00:00Z'))
  await keepSnapshot(database, [secret], parse(text('The second')), Date.parse('2026-01-02T00:00:00Z'))
  const [row, ...others] = await database.prisma.configSnapshot.findMany()
  t.same(others, [])
  t.notMatch(row?.settings, /The second|acme.example/)
  const opened = deriveCipher([secret], 'config').decrypt(row?.settings ?? '', 'last')
  t.match(opened, /"name":"The second"/)
  t.notMatch(opened, /the-secret|an-older|mail-password|in-plain/)
  const found = await findSnapshot(database, ['a-newer-secret-of-more-than-32-bytes', secret])
  t.match(found, { appliedAt: new Date('2026-01-02T00:00:00Z'), settings: { app: { name: 'The second' } } })
  t.match(found?.settings?.clients[0], { client_id: 'a', secret: /^[0-9a-f]{64}$/ })
  t.match(await findSnapshot(database, ['another-secret-of-more-than-32-bytes']), { settings: null })
})
