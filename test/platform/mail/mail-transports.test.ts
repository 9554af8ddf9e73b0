// engine: none
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTransport } from '../../../src/platform/mail/transport.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute, second } from '../../support/clock.ts'
import { directly } from '../../support/forward-proxy.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { parseMail, SmtpReceiver } from '../../support/smtp.ts'

const to = 'ada@example.com'
const link = 'https://app.example.com/secret-link'

const queue = ({ app, database }: TestApp, address = to) =>
  database.transaction((tx) =>
    app.mail.queue(
      tx,
      { to: address, template: 'verify-email', language: null, data: { link, minutes: 60 } },
      { share: 'guest', userId: null, ipAddress: null },
    ),
  )
const rowsOf = ({ database }: TestApp) => database.prisma.outbox.findMany({ orderBy: { id: 'asc' } })

/** An app that sends to a scripted mail server. */
async function sendingTo(t: Parameters<typeof buildTestApp>[0], receiver: SmtpReceiver, credentials = '') {
  t.teardown(() => receiver.close())
  return buildTestApp(t, { settings: { mail: { url: receiver.url.replace('//', `//${credentials}`) } } })
}

t.test('file: writes one whole .eml for each mail, readable by its own user only', async (t) => {
  const directory = join(temporaryDirectory(t), 'mails', 'out')
  const svc = await buildTestApp(t, { settings: { mail: { url: `file:${directory}`, from: 'Ä <id@example.com>' } } })
  await queue(svc)
  await queue(svc, '"ada, eve@example.org"@example.com')
  await svc.app.outbox.deliverDue()
  const files = readdirSync(directory)
  t.equal(files.length, 2)
  const mails = []
  for (const file of files) {
    t.match(file, /^2026-11-20T12-00-00-000Z-\w{24}\.eml$/)
    t.equal(statSync(join(directory, file)).mode & 0o777, 0o600)
    mails.push(await parseMail(readFileSync(join(directory, file)), to))
  }
  t.match(mails, [{ from: 'id@example.com' }, { subject: 'Verify your email address' }])
  t.ok(mails.every((mail) => mail.text.includes(link) && mail.html.includes(link)))
  t.same(
    mails.map(({ headers }) => headers.to).sort(),
    ['<"ada, eve@example.org"@example.com>', to],
    'one recipient each',
  )

  rmSync(directory, { recursive: true })
  writeFileSync(directory, 'in the way')
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.match(await rowsOf(svc), [{ attempts: 1, failedAt: null }])
  rmSync(directory)
  mkdirSync(directory)
  svc.clock.advance(10 * second)
  await svc.app.outbox.deliverDue()
  t.equal(readdirSync(directory).length, 1)
})

t.test('log: prints the text of the mail', async (t) => {
  const printed: string[] = []
  const write = process.stdout.write
  process.stdout.write = (chunk: string | Uint8Array) => printed.push(String(chunk)) > 0
  t.teardown(() => {
    process.stdout.write = write
  })
  const message = {
    from: { name: 'svc', address: 'no-reply@localhost' },
    to,
    subject: 'Hello',
    text: `Open\n\n${link}\n`,
    html: '<p>',
    attachment: null,
    messageId: '<1@localhost>',
    date: new Date(0),
    name: '1',
  }
  await (await openTransport({ url: 'log:', tls: null, ca_file: null, from: '' }, directly)).send(
    message,
    new AbortController().signal,
  )
  process.stdout.write = write
  t.equal(
    printed.join(''),
    `\n  From: svc <no-reply@localhost>\n  To: ${to}\n  Subject: Hello\n  \n  Open\n  \n  ${link}\n\n`,
  )
})

t.test('smtp: signs in, and keeps the password and the link out of logs and rows', async (t) => {
  const password = 'p@ss word/%'
  const tried: (string | null | undefined)[] = []
  let isRight = false
  const receiver = await SmtpReceiver.start({
    authOptional: false,
    onAuth: ({ username, password: given }, _session, done) => {
      tried.push(username, given)
      const sent = btoa(`\0${username}\0${given}`)
      const echo = new Error(`no ${given} ${btoa(String(given))} ${sent}`)
      if (isRight) done(null, { user: username })
      else done(echo)
    },
  })
  const svc = await sendingTo(t, receiver, `mail%40svc:${encodeURIComponent(password)}@`)
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.strictSame(tried, ['mail@svc', password])
  const [row] = await rowsOf(svc)
  t.match(row, { attempts: 1, failedAt: null, lastError: /^Invalid login: 535 no … … …$/ }, 'it is retried')
  isRight = true
  svc.clock.advance(10 * second)
  await svc.app.outbox.deliverDue()
  t.match(receiver.mails, [{ to, text: /secret-link/ }])
  t.match(svc.logs.join(''), /Invalid login/)
  for (const secret of [password, encodeURIComponent(password), btoa(password), 'secret-link', 'mail@svc']) {
    t.notOk((svc.logs.join('') + row?.lastError + row?.payload).includes(secret), secret)
  }
})

t.test('smtp: gives up after a permanent error, and retries all other mails', async (t) => {
  const replies: Record<string, number> = { nobody: 550, full: 552, later: 451, wait: 421, signin: 530 }
  let senderReply = 0
  let isTaken = false
  const refusal = (code: number) => Object.assign(new Error('<ada@example.com> no'), { responseCode: code })
  const receiver = await SmtpReceiver.start({
    onMailFrom: (_address, _session, done) => done(senderReply ? refusal(senderReply) : null),
    onRcptTo: ({ address }, _session, done) => {
      const code = replies[address.split('@')[0] ?? '']
      done(code && !isTaken ? refusal(code) : null)
    },
    onMessage: async () => {
      if (!isTaken && receiver.mails.length > 0) throw refusal(554)
    },
  })
  const svc = await sendingTo(t, receiver)
  for (const name of Object.keys(replies)) await queue(svc, `${name}@example.com`)
  await svc.app.outbox.deliverDue()
  t.match(await rowsOf(svc), [
    { attempts: 1, failedAt: Date, lastError: /550 <ada@example.com> no/ },
    { attempts: 1, failedAt: Date },
    { attempts: 1, failedAt: null, lastError: /451/ },
    { attempts: 1, failedAt: null },
    { attempts: 1, failedAt: null, lastError: /530/ },
  ])
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.equal(receiver.mails.length, 1, 'the others still arrive')
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.match((await rowsOf(svc)).at(-1), { failedAt: Date, lastError: /554/ }, 'a message that is rejected')
  senderReply = 553
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.match((await rowsOf(svc)).at(-1), { failedAt: null, lastError: /553/ }, 'the operator must correct the sender')
  senderReply = 0
  isTaken = true
  svc.clock.advance(10 * second)
  await svc.app.outbox.deliverDue()
  t.same(receiver.mails.map((mail) => mail.to).sort(), [
    to,
    to,
    'later@example.com',
    'signin@example.com',
    'wait@example.com',
  ])
  t.equal((await rowsOf(svc)).length, 3)
})

t.test('smtp: loses nothing while the server is away, and any process delivers later', async (t) => {
  const receiver = await SmtpReceiver.start()
  const { port } = receiver
  const svc = await sendingTo(t, receiver)
  await queue(svc, 'first@example.com')
  await svc.app.outbox.deliverDue()
  t.equal(receiver.mails.length, 1)
  await receiver.close()
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.match(await rowsOf(svc), [{ attempts: 1, failedAt: null, lastError: /ECONNREFUSED/ }])
  await svc.app.close()

  const back = await SmtpReceiver.start({ port })
  t.teardown(() => back.close())
  const mail = { url: back.url }
  const next = await buildTestApp(t, { database: svc.where, clock: svc.clock, settings: { mail } })
  await next.app.outbox.deliverDue()
  t.equal(back.mails.length, 0, 'not before the retry time')
  next.clock.advance(10 * second)
  await next.app.outbox.deliverDue()
  t.match(back.mails, [{ to, text: /secret-link/ }], 'the next process sends it')
  t.strictSame(await rowsOf(next), [])

  const other = await SmtpReceiver.start()
  t.teardown(() => other.close())
  next.config.swap({ ...next.config.current(), mail: { ...next.config.current().mail, url: other.url } })
  await queue(next)
  await next.app.outbox.deliverDue()
  t.equal(other.mails.length, 1, 'another mail.url takes effect immediately')
})

t.test('smtp: sends fifty mails once each with two replicas', async (t) => {
  const receiver = await SmtpReceiver.start()
  const first = await sendingTo(t, receiver)
  const mail = { url: receiver.url }
  const second = await buildTestApp(t, { database: first.where, clock: first.clock, settings: { mail } })
  const addresses = Array.from({ length: 50 }, (_, i) => `user${i}@example.com`).sort()
  await Promise.all(addresses.map((address, i) => queue(i % 2 ? first : second, address)))
  await Promise.all([first.app.outbox.deliverDue(), second.app.outbox.deliverDue()])
  t.same(receiver.mails.map((mail) => mail.to).sort(), addresses)
  t.equal(new Set(receiver.mails.map((mail) => mail.headers['message-id'])).size, 50)
})

t.test('smtp: counts a missing answer as one attempt, and retries with the same Message-ID', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const ids: (string | undefined)[] = []
  const receiver = await SmtpReceiver.start({
    onMessage: async ({ headers }) => {
      ids.push(headers['message-id'])
      if (ids.length > 1) return
      arrived.resolve()
      await new Promise(() => undefined)
    },
  })
  const svc = await sendingTo(t, receiver)
  await queue(svc)
  await arrived.promise
  await svc.app.close()
  t.match(await rowsOf(svc), [{ attempts: 1, failedAt: null }], 'the process ended first')
  const mail = { url: receiver.url }
  const next = await buildTestApp(t, { database: svc.where, clock: svc.clock, settings: { mail } })
  next.clock.advance(minute)
  await next.app.outbox.deliverDue()
  t.equal(receiver.mails.length, 1)
  t.same([ids.length, new Set(ids).size], [2, 1])
})

t.test('smtp: sends no mail to a server with an untrusted certificate', async (t) => {
  const receiver = await SmtpReceiver.start({ hideSTARTTLS: false })
  const svc = await sendingTo(t, receiver)
  await queue(svc)
  await svc.app.outbox.deliverDue()
  t.equal(receiver.mails.length, 0)
  t.match(await rowsOf(svc), [{ attempts: 1, failedAt: null, lastError: /certificate/ }])
})
