// engine: none
// lane: all
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { hashSync as bcrypt } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { type Database, openDatabase } from '../../src/platform/database/database.ts'
import { hashingThreads } from '../../src/platform/workers/count.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { type Running, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { pass, until } from '../support/until.ts'

/** A connection for raw requests. */
interface Wire {
  socket: Socket
  text(): string
  /** Resolves with all received data when the server closed the connection. */
  closed: Promise<string>
}

async function start(t: Test, settings?: string, fill?: (database: Database) => Promise<unknown>): Promise<Running> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  if (fill) {
    const opened = await openDatabase(database)
    await fill(opened)
    await opened.close()
  }
  const cwd = temporaryDirectory(t)
  if (settings) writeFileSync(join(cwd, 'svc.yaml'), settings)
  return startMain(t, { cwd, env: { DATABASE_URL: database.url, ...(settings ? { SVC_CONFIG: 'svc.yaml' } : {}) } })
}

async function open(t: Test, { port }: Running): Promise<Wire> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  const closed = new Promise<string>((done) => socket.once('close', () => done(text)))
  await once(socket, 'connect')
  return { socket, text: () => text, closed }
}

/** Waits until svc has read what was sent before: it reads its connections in the order of their data. */
const isRead = async ({ url }: Running): Promise<void> => {
  await sendRequest(url, { url: '/health/live' })
}

const isRefused = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      done(false)
    })
    socket.once('error', () => done(true))
  })

/** The bcrypt cost whose hash takes about `wanted` milliseconds here: one more doubles the time. */
function costOf(wanted: number): number {
  const times = [1, 2, 3].map(() => {
    const begin = performance.now()
    bcrypt('correct horse', 8)
    return performance.now() - begin
  })
  return 8 + Math.round(Math.log2(wanted / Math.min(...times)))
}

const body = JSON.stringify({ email: 'a@b.c', password: 'wrong', device_name: 'Phone' })
const head = `POST /svc/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`

t.test('stops an idle process immediately on SIGTERM, with keep-alive connections open', async (t) => {
  const svc = await start(t)
  const silent = await open(t, svc)
  const idle = await open(t, svc)
  idle.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => idle.text().includes('"ok"'))
  t.match(idle.text(), 'HTTP/1.1 200')
  const { code, stdout, stderr } = await svc.stop()
  t.equal(code, 0)
  t.equal(stderr, '')
  t.notMatch(stdout, 'requests in flight', 'it did not wait for the timeout')
  await Promise.all([silent.closed, idle.closed])
})

t.test('reports unready to the load balancer before it rejects requests', async (t) => {
  const svc = await start(t, 'server: { drain: 60s }')
  t.equal((await sendRequest(svc.url, { url: '/health/ready' })).statusCode, 200)
  svc.child.kill('SIGTERM')
  // A pause without requests does not end the drain.
  await pass(1_000)
  const told = await sendRequest(svc.url, { url: '/health/ready' })
  t.equal(told.statusCode, 503)
  t.match(told.json(), { status: 'stopping' })
  const answer = await sendRequest(svc.url, { url: '/svc/csrf-cookie' })
  t.equal(answer.statusCode, 204, 'and everything is served until then')
  t.equal(answer.headers.connection, 'close')
  t.equal((await sendRequest(svc.url, { url: '/health/live' })).statusCode, 200)
  t.equal(svc.child.exitCode, null)
})

t.test('answers a request whose body is still arriving', async (t) => {
  const svc = await start(t)
  const slow = await open(t, svc)
  const idle = await open(t, svc)
  idle.socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => idle.text().includes('"ok"'))
  slow.socket.write(head + body.slice(0, 10))
  await isRead(svc)
  svc.child.kill('SIGTERM')
  await idle.closed
  await until(() => isRefused(svc.port))
  t.equal(svc.child.exitCode, null, 'it waits for the request')
  slow.socket.write(body.slice(10))
  const answer = await slow.closed
  t.match(answer, /^HTTP\/1\.1 422 /)
  t.match(answer, 'The provided credentials are incorrect.', 'the database was available until the answer')
  t.match(answer, /^connection: close\r$/im, 'the client is asked to close the connection')
  t.equal((await svc.ended).code, 0)
  t.notMatch(svc.stdout(), /"level":"(error|fatal)"|requests in flight/)
})

t.test('answers logins that wait for the hashing threads', async (t) => {
  const svc = await start(t)
  const wires = await Promise.all(Array.from({ length: 20 }, () => open(t, svc)))
  // Each for another account: the limit is not under test.
  for (const [index, wire] of wires.entries()) wire.socket.write(head + body.replace('a@b', `${index % 10}@b`))
  await isRead(svc)
  svc.child.kill('SIGTERM')
  const answers = await Promise.all(wires.map((wire) => wire.closed))
  t.equal((await svc.ended).code, 0)
  for (const answer of answers) {
    t.match(answer, /^HTTP\/1\.1 (422|429|503) /, 'answered, or asked to retry')
    t.match(answer, /"code":"(invalid_credentials|too_many_requests|unavailable)"/)
  }
  t.ok(answers.filter((answer) => answer.startsWith('HTTP/1.1 422')).length > 0, 'some were in flight')
})

t.test('rejects logins that get no hashing thread before the process must end', async (t) => {
  // Every check takes as long as that of the most expensive stored hash: here about 0.4 s, however fast the machine is.
  const password = bcrypt('correct horse', costOf(400))
  const now = new Date()
  const user = { name: 'Ada', email: 'ada@example.com', password, createdAt: now, updatedAt: now }
  const limits = 'rate_limits: { login: null, login_address: null, global: null }'
  const svc = await start(t, limits, ({ prisma }) => prisma.user.create({ data: user }))
  const wires = await Promise.all(Array.from({ length: 40 * hashingThreads(null) }, () => open(t, svc)))
  for (const wire of wires) wire.socket.write(head + body)
  await isRead(svc)
  const answered = () => wires.filter(({ text }) => text() !== '').length
  // The threads start with the first check, which takes seconds on a busy machine.
  await until(() => answered() > 0)
  const before = answered()
  svc.child.kill('SIGTERM')
  const answers = await Promise.all(wires.map((wire) => wire.closed))
  t.equal((await svc.ended).code, 0)
  t.notMatch(svc.stdout(), 'requests in flight')
  const checked = answers.filter((answer) => answer.startsWith('HTTP/1.1 422'))
  const rejected = answers.filter((answer) => answer.startsWith('HTTP/1.1 503'))
  t.equal(checked.length + rejected.length, wires.length)
  t.ok(checked.length > before, 'running checks were completed')
  t.ok(rejected.length > 0)
  t.match(rejected[0], /^retry-after: 2\r$/im)
})

t.test('answers pipelined requests behind a request in flight', async (t) => {
  const svc = await start(t)
  const wire = await open(t, svc)
  wire.socket.write(head + body.slice(0, 10))
  await isRead(svc)
  svc.child.kill('SIGTERM')
  await until(() => isRefused(svc.port))
  wire.socket.write(`${body.slice(10)}GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const text = await wire.closed
  t.match(text, /^HTTP\/1\.1 422 /)
  t.notMatch(text, /HTTP\/1\.1 5/)
  t.equal((await svc.ended).code, 0)
})

t.test('stops in spite of a request that never ends', async (t) => {
  const svc = await start(t)
  const wire = await open(t, svc)
  wire.socket.write(head + body.slice(0, 10))
  await isRead(svc)
  const { code, stdout } = await svc.stop()
  t.equal(code, 1, 'it logs that some requests were not finished')
  t.match(stdout, 'stopped with requests in flight')
})

t.test('stops immediately while it waits for the database', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await once(silent, 'listening')
  const address = silent.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const env = { DATABASE_URL: `postgresql://svc@127.0.0.1:${port}/svc`, LOG_LEVEL: 'error' }
  const [svc, [socket]] = await Promise.all([startMain(t, { env }), once(silent, 'connection')])
  t.teardown(() => socket.destroy())
  t.equal(
    (await svc.stop()).code,
    0,
    'by its own listener: the first process of a container would ignore the signal otherwise',
  )
})

t.test('does not wait for a mail server that does not answer', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await once(silent, 'listening')
  const address = silent.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const now = new Date()
  const user = { name: 'Ada', email: 'ada@example.com', createdAt: now, updatedAt: now }
  const svc = await start(t, `mail: { url: 'smtp://127.0.0.1:${port}' }`, ({ prisma }) =>
    prisma.user.create({ data: user }),
  )
  const connected = once(silent, 'connection')
  const payload = { email: user.email }
  t.equal((await sendRequest(svc.url, { method: 'POST', url: '/svc/forgot-password', payload })).statusCode, 200)
  const [socket] = await connected
  t.teardown(() => socket.destroy())
  const { code, stdout } = await svc.stop()
  t.equal(code, 0)
  t.match(stdout, /"reason":"The process is ending\."/, 'the next process sends the mail')
  t.match(stdout, /"msg":"svc has stopped after/)
  t.notMatch(stdout, /"level":"(error|fatal)"|before background work ended/)
})
