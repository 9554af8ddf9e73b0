// engine: none
// lane: all
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { deviceSignIn } from '../support/accounts.ts'
import { buildTestApp } from '../support/app.ts'
import { dumpDatabase } from '../support/dump.ts'
import { temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'

const docs = resolve(import.meta.dirname, '../../docs')
const filter = join(docs, 'fail2ban/svc.conf')

/** Debian's package `fail2ban` has it. */
const isInstalled = spawnSync('fail2ban-regex', ['--version']).status === 0

t.test('records the address of a failed sign-in, and never an unknown identifier', async (t) => {
  const svc = await buildTestApp(t)
  // Users type passwords into the wrong field.
  const email = 'my-secret-battery@example.com'
  const answer = await deviceSignIn(svc, { email, password: 'another-secret' }, '203.0.113.9')
  t.equal(answer.statusCode, 422)
  const { prisma } = svc.database
  await until(async () => (await prisma.event.count()) > 0)
  t.match(await prisma.event.findMany(), [
    {
      type: 'login_failed',
      userId: null,
      ipAddress: '203.0.113.9',
      actor: 'anonymous',
      credential: 'password',
      reason: 'unknown_account',
    },
  ])
  const line = svc.logs.find((text) => text.includes('"event":"login_failed"')) ?? '{}'
  t.match(JSON.parse(line), { ip: '203.0.113.9', outcome: 'failure', reason: 'unknown_account', reqId: String })
  const stored = await dumpDatabase(svc)
  for (const text of [svc.logs.join('\n'), stored]) t.notMatch(text, /my-secret-battery|another-secret/)
})

t.test('logs failures in the format of the fail2ban filter', { skip: !isInstalled && 'no fail2ban' }, async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const ip = '203.0.113.9'
  const forged = {
    'user-agent': '","event":"login_failed","ip":"198.51.100.1"',
    'x-request-id': '","event":"login_failed","ip":"198.51.100.2"',
  }
  for (let i = 0; i < 6; i++) await deviceSignIn(svc, { email, password: `wrong ${i}` }, ip, forged)
  await deviceSignIn(svc, { email: 'unknown@example.com', password: 'x' }, '2001:db8::7', forged)
  await deviceSignIn(svc, { email: 'other@example.com', password: 'x' }, '203.0.113.20', forged)
  await deviceSignIn(svc, { email: (await svc.createUser()).email, password: 'correct horse' }, '203.0.113.30', forged)
  await until(() => svc.logs.filter((line) => line.includes('"event":"login_failed"')).length === 7)
  const file = join(temporaryDirectory(t), 'svc.log')
  // The clock of the tests is fixed; fail2ban ignores old lines.
  writeFileSync(file, svc.logs.join('').replace(/"time":"[^"]+"/g, `"time":"${new Date().toISOString()}"`))
  const found = execFileSync('fail2ban-regex', ['-o', 'ip', file, filter], { encoding: 'utf8' }).trim().split('\n')
  t.same(found.sort(), [...Array(6).fill(ip), '2001:db8::7', '203.0.113.20'].sort(), 'the addresses, and no forged one')
})

t.test('counts the same events in CrowdSec', async (t) => {
  const read = (name: string) => parse(readFileSync(join(docs, 'crowdsec', name), 'utf8'))
  const [parser, scenario, acquisition] = [read('svc-logs.yaml'), read('svc-bf.yaml'), read('acquis.yaml')]
  const events = /"event":"\(\?:([^)]+)\)"/.exec(readFileSync(filter, 'utf8'))?.[1]?.split('|') ?? []
  t.equal(events.length, 4)
  const quoted = events.map((name) => `'${name}'`).join(', ')
  t.ok(parser.filter.includes(`JsonExtract(evt.Parsed.message, 'event') in [${quoted}]`))
  t.ok(parser.filter.includes(`evt.Parsed.program == '${acquisition.labels.type}'`))
  const meta = Object.fromEntries(
    parser.statics.map((each: Record<string, string>) => [each.meta, each.value ?? each.expression]),
  )
  t.equal(meta.source_ip, "JsonExtract(evt.Parsed.message, 'ip')")
  t.equal(scenario.filter, `evt.Meta.log_type == '${meta.log_type}'`)
})
