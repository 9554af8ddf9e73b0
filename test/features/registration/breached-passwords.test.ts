// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { registration, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { runTerminalCommand } from '../../support/command.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { temporaryDirectory } from '../../support/process.ts'

const leaked = 'admirable kestrel 1981'
const rejected = ['The given password has appeared in a data leak. Please choose a different password.']

t.test('rejects leaked passwords wherever a user gets a new one, and accepts existing ones', async (t) => {
  const directory = temporaryDirectory(t)
  const [list, file] = [join(directory, 'list.txt'), join(directory, 'index')]
  writeFileSync(list, `${leaked}\ncorrect horse\n`)
  await runTerminalCommand('passwords:index', '--passwords', list, file)
  const svc = await buildTestApp(t, { settings: { passwords: { breached: { file } } } })
  const pair = { password: leaked, password_confirmation: leaked }

  const spa = await visitor(svc)
  t.strictSame((await spa.post('/register', registration('new@example.com', pair))).json().errors, {
    password: rejected,
  })
  const page = new ScriptlessBrowser(svc)
  const shown = await page.send('/oauth/register', { name: 'Ada', email: 'new@example.com', ...pair })
  t.match([shown.statusCode, shown.body], [422, /appeared in a data leak/])
  t.equal(await svc.database.prisma.user.count(), 0)

  const { email } = await svc.createUser()
  t.equal((await spa.signIn(email, 'correct horse')).statusCode, 200, 'a leaked password that a user has')
  const change = await spa.put('/user/password', { current_password: 'correct horse', ...pair })
  t.strictSame(change.json().errors, { password: rejected })
  const other = { password: `${leaked}!`, password_confirmation: `${leaked}!` }
  t.equal((await spa.put('/user/password', { current_password: 'correct horse', ...other })).statusCode, 200)
})
