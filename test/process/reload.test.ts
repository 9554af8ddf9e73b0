// engine: none
import { mkdirSync, renameSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { ada, startWithAda } from '../support/listening.ts'
import { configLines, machineToken, nthLine, replaceFile, robot, settingsOf } from '../support/reloading.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { pass } from '../support/until.ts'

const [info, warn, error] = ['info', 'warn', 'error']

t.test('applies valid changes on SIGHUP, lists those that need a restart, and otherwise changes nothing', async (t) => {
  const svc = await startWithAda(t, {}, { clients: [robot('first')], expiration: null })
  const settings = settingsOf(svc)
  const browser = remoteBrowser(svc.url, { url: svc.url })
  t.equal((await browser.signIn(ada.email, ada.password)).statusCode, 200)
  const old = (await machineToken(svc, 'first')).json().access_token
  const whose = async () => (await requestWithBearer(svc.url, old, '/orders?any=1')).statusCode
  t.equal(await whose(), 403, 'a known machine without the ability')

  // The file unchanged: the watcher has nothing to do, but the signal still reads it.
  svc.child.kill('SIGHUP')
  t.match(await nthLine(svc, 1), { level: info, msg: /without live changes/ })

  replaceFile(svc, {
    ...settings,
    app: { name: 'Acme', url: 'http://localhost:1' },
    session: { cookie: 'another', lifetime: '10m' },
    clients: [robot('second', 'another-secret-that-is-long')],
  })
  svc.child.kill('SIGHUP')
  t.match(await nthLine(svc, 3), { level: warn, keys: ['app.url', 'session.cookie'] })
  t.match(configLines(svc)[1], { level: info, msg: 'configuration reloaded' })
  t.same(configLines(svc)[1]?.changed, ['app.name', 'session.lifetime', 'clients.second', 'clients.first'])
  t.notMatch(svc.stdout(), 'another-secret', 'no value is logged')
  const cookie = String((await browser.get('/api/user')).headers['set-cookie'])
  t.match(cookie, /svc_session=[^;]+; Max-Age=600;/, 'the session continues, under the old name with the new lifetime')
  t.match((await sendRequest(svc.url, { url: '/openapi.json' })).json(), {
    info: { title: 'Acme' },
    servers: [{ url: svc.url }],
  })
  t.equal((await sendRequest(svc.url, { url: '/.well-known/openid-configuration' })).json().issuer, svc.url)
  t.equal((await machineToken(svc, 'first')).statusCode, 401, 'a removed client')
  t.equal(await whose(), 401, 'and its token with it')
  t.equal((await machineToken(svc, 'second', 'another-secret-that-is-long')).statusCode, 200)

  replaceFile(svc, 'app: { name: Other }\nsession:\n  lifetime: soon\nnonsense: 1\n')
  svc.child.kill('SIGHUP')
  const refused = await nthLine(svc, 4)
  t.match(refused, { level: error, msg: /^the configuration is invalid, keeping the active configuration$/ })
  t.match(refused.problems, [
    /^svc\.yaml:3: session\.lifetime: must be .*"soon"/,
    /^svc\.yaml:4: nonsense: is not a known/,
  ])
  t.equal((await machineToken(svc, 'second', 'another-secret-that-is-long')).statusCode, 200)

  // Valid alone, but not with the address that waits for a restart.
  replaceFile(svc, {
    ...settings,
    app: { url: 'https://id.example.com', environment: 'development' },
    passkeys: { rp_id: 'example.com' },
  })
  svc.child.kill('SIGHUP')
  t.match(await nthLine(svc, 5), {
    level: error,
    msg: 'the configuration is invalid without the keys that need a restart (app.url, app.environment), keeping the active configuration',
    problems: [/^passkeys\.rp_id: /],
  })
  t.equal((await sendRequest(svc.url, { url: '/openapi.json' })).json().info.title, 'Acme')
  t.equal((await browser.get('/api/user')).statusCode, 200)
  svc.child.kill('SIGHUP')
  const { code } = await svc.stop()
  t.equal(code, 0)
})

t.test('detects a change of the file: replaced, behind a changed link, or in a file with a secret', async (t) => {
  const secretFile = 'robot.secret'
  const svc = await startWithAda(t, {}, { clients: [] })
  const settings = settingsOf(svc)
  const place = (name: string) => join(svc.cwd, name)
  const named = (name: string, more: object = {}) => ({ ...settings, app: { name, url: svc.url }, ...more })

  replaceFile(svc, named('Renamed'))
  t.same((await nthLine(svc, 1)).changed, ['app.name'])

  // As Kubernetes mounts a ConfigMap: the file is a link through a link that is replaced.
  for (const version of ['v1', 'v2']) mkdirSync(place(version))
  const clients = [robot('robot', 'x')].map((client) => ({ ...client, secret: { file: secretFile } }))
  writeFileSync(place(secretFile), 'the-first-secret-of-the-robot\n')
  writeFileSync(place('v1/svc.yaml'), stringify(named('First')))
  writeFileSync(place('v2/svc.yaml'), stringify(named('Second', { clients })))
  symlinkSync('v1', place('..data'))
  symlinkSync('..data/svc.yaml', place('link'))
  renameSync(place('link'), place('svc.yaml'))
  t.same((await nthLine(svc, 2)).changed, ['app.name'])
  symlinkSync('v2', place('..data_tmp'))
  renameSync(place('..data_tmp'), place('..data'))
  t.same((await nthLine(svc, 3)).changed, ['app.name', 'clients.robot'])
  t.equal((await machineToken(svc, 'robot', 'the-first-secret-of-the-robot')).statusCode, 200)

  writeFileSync(place(secretFile), 'the-second-secret-of-the-robot\n')
  t.same((await nthLine(svc, 4)).changed, ['clients.robot.secret'])
  t.equal((await machineToken(svc, 'robot', 'the-second-secret-of-the-robot')).statusCode, 200)
  t.equal((await machineToken(svc, 'robot', 'the-first-secret-of-the-robot')).statusCode, 401)

  // An invalid file is reported once, and the next change counts.
  unlinkSync(place(secretFile))
  t.match(await nthLine(svc, 5), {
    level: error,
    problems: [/clients\[0\]\.secret: the file robot\.secret cannot be read/],
  })
  t.equal((await machineToken(svc, 'robot', 'the-second-secret-of-the-robot')).statusCode, 200)
  writeFileSync(place('v2/svc.yaml'), '\n')
  t.match(await nthLine(svc, 6), { level: error, problems: ['svc.yaml: the file is empty'] })
  writeFileSync(place(secretFile), 'the-third-secret-of-the-robot\n')
  writeFileSync(place('v2/svc.yaml'), stringify(named('Second', { clients })))
  t.same((await nthLine(svc, 7)).changed, ['clients.robot.secret'])

  // Touched, and rewritten with the same content: there is nothing to do, and the next log line is for the next change.
  const later = new Date(Date.now() + 60_000)
  utimesSync(place('v2/svc.yaml'), later, later)
  await pass(1_500)
  writeFileSync(place('v2/svc.yaml'), stringify(named('Third', { clients })))
  t.same((await nthLine(svc, 8)).changed, ['app.name'])
  t.equal((await svc.stop()).code, 0, 'the watcher keeps no process alive')
})
