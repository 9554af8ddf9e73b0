import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { oauthSettings, Person, request } from '../../support/oauth.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'
import { enableTwoFactor } from '../../support/totp.ts'

const [old, fresh] = ['the-secret-of-the-tests-is-32-bytes-long', 'another-secret-of-the-tests-with-32-bytes']

t.test('counts the rows that need each secret', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const user = await svc.createUser()
  await new Person(svc, (await svc.createUser()).email).allow(request('web', { scope: 'openid' }))
  await enableTwoFactor(svc, user)
  const cwd = temporaryDirectory(t)
  const check = async (secrets: string) => {
    const env = { DATABASE_URL: svc.where.url, SVC_SECRET: secrets }
    const { code, stdout, stderr } = await runCli(['secret:check'], { cwd, env })
    t.equal(stderr, '')
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return { code, rows }
  }
  const names = ['authenticator secrets', 'recovery codes', 'signing keys', 'OAuth records']
  const data = (found: { rows: { data: string }[] }) =>
    found.rows.map(({ data }) => data).filter((name) => names.includes(name))
  const current = await check(old)
  t.equal(current.code, 0)
  t.strictSame(data(current), names)
  t.ok(current.rows.every(({ secret, rows }) => secret === 1 && rows > 0))

  const replaced = await check(`${fresh},${old}`)
  t.equal(replaced.code, 1)
  t.ok(replaced.rows.every(({ secret }) => secret === 2))
  t.strictSame(data(replaced), names)

  const lost = await check(fresh)
  t.equal(lost.code, 1)
  t.ok(lost.rows.every(({ secret }) => secret === null))
})
