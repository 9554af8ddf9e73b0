// engine: none
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { verifySmtp } from '../../../src/platform/mail/smtp.ts'
import { buildTestApp } from '../../support/app.ts'
import { directly } from '../../support/forward-proxy.ts'
import { SmtpReceiver } from '../../support/smtp.ts'
import { Authority } from '../../support/tls-proxy.ts'

const authority = new Authority(t)
const { chain, key } = authority.issue({ host: '127.0.0.1' })
const certificate = { cert: readFileSync(chain), key: readFileSync(key) }

/** Sends one mail with a section `mail`, and returns whether it was encrypted; null if it was not sent. */
async function sends(t: Test, receiver: SmtpReceiver, mail: object) {
  const svc = await buildTestApp(t, { settings: { mail: { url: receiver.url, ...mail } } })
  await svc.database.transaction((tx) =>
    svc.app.mail.queue(
      tx,
      { to: 'ada@example.com', template: 'verify-email', language: null, data: { link: '/', minutes: 60 } },
      { share: 'guest', userId: null, ipAddress: null },
    ),
  )
  await svc.app.outbox.deliverDue()
  const [job] = await svc.database.prisma.outbox.findMany()
  return { reason: job?.lastError ?? null, received: receiver.mails.splice(0).map(({ isEncrypted }) => isEncrypted) }
}

t.test('a server with STARTTLS gets mails encrypted, unless tls is none', async (t) => {
  const receiver = await SmtpReceiver.start({ hideSTARTTLS: false, ...certificate })
  t.teardown(() => receiver.close())
  const ca_file = authority.root
  t.strictSame(await sends(t, receiver, { tls: 'required', ca_file }), { reason: null, received: [true] })
  t.strictSame(await sends(t, receiver, { tls: 'opportunistic', ca_file }), { reason: null, received: [true] })
  t.strictSame(await sends(t, receiver, { tls: 'none' }), { reason: null, received: [false] })
  for (const tls of ['required', 'opportunistic']) {
    const { reason, received } = await sends(t, receiver, { tls })
    t.match(String(reason), /svc does not trust the certificate: set mail\.ca_file/, tls)
    t.strictSame(received, [], 'nothing in clear text')
  }
  const { reason } = await sends(t, receiver, {
    tls: 'required',
    ca_file,
    url: receiver.url.replace('127.0.0.1', 'localhost'),
  })
  t.match(String(reason), /Use a host name that the certificate has/)
})

t.test('a server without STARTTLS gets no mail and no password if tls is required', async (t) => {
  const passwords: unknown[] = []
  const receiver = await SmtpReceiver.start({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ password }, _session, done) => {
      passwords.push(password)
      done(null, { user: 'svc' })
    },
  })
  t.teardown(() => receiver.close())
  const url = receiver.url.replace('//', '//svc:hidden@')
  const { reason, received } = await sends(t, receiver, { url, tls: 'required' })
  t.match(String(reason), /does not offer STARTTLS\. Use smtps:.*or set mail\.tls to opportunistic/)
  t.strictSame([received, passwords], [[], []])
  await t.rejects(
    verifySmtp({ url, tls: 'required', ca_file: null }, directly),
    /does not offer STARTTLS/,
    'the doctor says it too',
  )
  t.strictSame(await sends(t, receiver, { url, tls: 'opportunistic' }), { reason: null, received: [false] })
  t.strictSame(passwords, ['hidden'])
})
