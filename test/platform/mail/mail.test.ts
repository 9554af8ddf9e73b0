// engine: none
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type NoticeKind, notify } from '../../../src/identity/notices.ts'
import type { MailDraft } from '../../../src/platform/mail/mail.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute, second } from '../../support/clock.ts'
import { temporaryDirectory } from '../../support/process.ts'

const to = 'ada@example.com'
const link = 'https://app.example.com/verify?a=1&b="2"'

const queue = ({ app, database }: TestApp, draft: MailDraft) =>
  database.transaction((tx) => app.mail.queue(tx, draft, { share: 'guest', userId: null, ipAddress: null }))
const recipient = (email: string) => ({
  id: 1,
  email,
  language: null,
  email_verified_at: '2026-11-20T12:00:00.000000Z',
})
const verification: MailDraft = { to, template: 'verify-email', language: null, data: { link, minutes: 60 } }
const failures = ({ database }: TestApp) => database.prisma.outbox.findMany({ orderBy: { id: 'asc' } })

t.test('sends a mail with its text, HTML and required headers', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { name: 'Ada & Söhne', url: 'https://id.example.com' } } })
  await queue(svc, verification)
  const [mail, ...others] = await svc.mailbox.to(to)
  t.equal(others.length, 0)
  t.match(mail, { to, from: 'no-reply@localhost', subject: 'Verify your email address' })
  t.match(mail?.headers, {
    to,
    'auto-submitted': 'auto-generated',
    'message-id': /^<\w{24}@id\.example\.com>$/,
    date: 'Fri, 20 Nov 2026 12:00:00 +0000',
  })
  t.ok(mail?.text.includes(`\n${link}\n`), 'the text is not escaped')
  t.ok(mail?.text.includes('for Ada & Söhne:'))
  t.ok(mail?.html.includes('href="https://app.example.com/verify?a=1&amp;b=&quot;2&quot;"'), 'the HTML is escaped')
  t.ok(mail?.html.includes('Ada &amp; Söhne'))
  t.match(
    mail?.html,
    /<html lang="en" dir="ltr">[\s\S]+The link is valid for 60 minutes\.[\s\S]+https:\/\/id\.example\.com/,
  )

  await queue(svc, { ...verification, template: 'reset-password' })
  const reset = (await svc.mailbox.to(to)).at(-1)
  t.match(reset, { subject: 'Reset your password', text: /60 minutes and works once/, html: /Choose a new password/ })
})

t.test('names event, time and device in a notice, without personal data', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null } } })
  const origin = {
    actor: null,
    caller: null,
    credential: null,
    clientId: null,
    reason: null,
    ipAddress: '2001:db8::1',
    userAgent: 'Evil/1.0 (Windows NT 10.0; call https://evil.example) Gecko/20100101 Firefox/140.0',
    requestId: null,
    language: null,
    log: null,
    metrics: null,
    subscriber: { wants: () => false, add: async () => undefined },
    now: svc.clock.now(),
  }
  const subjects: Record<NoticeKind, string> = {
    impersonation_started: 'An administrator acts as you, to see what you see',
    password_changed: 'Your password was changed',
    password_reset: 'Your password was reset',
    email_change_requested: 'Your email address is about to change',
    email_changed: 'Your email address was changed',
    new_sign_in: 'New sign-in to your account',
    two_factor_enabled: 'Two-factor authentication was turned on',
    two_factor_disabled: 'Two-factor authentication was turned off',
    recovery_codes_generated: 'New recovery codes were created',
    recovery_code_used: 'A recovery code was used',
    passkey_added: 'A passkey was added',
    passkey_removed: 'A passkey was removed',
    device_signed_in: 'New sign-in on Phone',
    password_removed: 'Your password was removed',
    remember_replayed: 'A remembered device was signed out',
    social_linked: 'An account at another provider was linked',
    social_unlinked: 'An account at another provider was unlinked',
    token_created: 'A new API token was created',
    personal_token_created: 'A new personal access token was created',
    two_factor_reset: 'An administrator removed two-factor authentication',
    account_deleted: 'Your account was deleted',
    application_authorized: 'An app was given access to your account',
    data_exported: 'Your data was exported',
  }
  const kinds: NoticeKind[] = Object.keys(subjects).filter((kind): kind is NoticeKind => kind in subjects)
  for (const kind of kinds) {
    await svc.database.transaction((tx) =>
      notify(svc.app, tx, origin, recipient(`${kind}@example.com`), kind, {
        newEmail: 'grace@example.org',
        provider: 'Acme',
        device: 'Phone',
      }),
    )
  }
  for (const kind of kinds) {
    const [mail] = await svc.mailbox.to(`${kind}@example.com`)
    t.equal(mail?.subject, subjects[kind])
    t.match(
      mail?.text,
      /When: November 20, 2026 at 12:00 PM UTC\nIP address: 2001:db8::1\nBrowser or app: Firefox on Windows\n/,
    )
    t.match(mail?.text, /New address: g…@example\.org\nProvider: Acme\n/)
    t.match(mail?.html, />Firefox on Windows</)
    t.notMatch(mail?.raw, /grace|evil/i)
  }
  const silent = { ...origin, ipAddress: null, userAgent: 'Your account is locked: https://evil.example' }
  await svc.database.transaction((tx) => notify(svc.app, tx, silent, recipient(to), 'passkey_added'))
  const [mail] = await svc.mailbox.to(to)
  t.match(mail?.text, /\n\nWhen: [^\n]+\n\nIf this was you/)
  t.notMatch(mail?.raw, /null|undefined|IP address|Browser or app|evil/)
})

t.test('prevents header injection through names, templates and values', async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(
    join(directory, 'reset-password.txt.eta'),
    'Subject: <%= it.data.title %> at <%= it.app.name %>\n\nText.',
  )
  const svc = await buildTestApp(t, {
    settings: {
      app: { name: 'svc\r\nBcc: eve@example.com\r\n\r\nEvil', url: 'https://id.example.com' },
      templates: { mail: directory },
    },
  })
  const title = 'One\r\nBcc: eve@example.com\nX-Evil: yes\u2028\u0085\u0000end'
  await queue(svc, { to, template: 'reset-password', language: null, data: { title } })
  await queue(svc, {
    to,
    template: 'verify-email',
    language: null,
    data: { link: 'x\r\n\r\nBcc: eve@example.com', minutes: 1 },
  })
  for (const mail of await svc.mailbox.to(to)) {
    t.notOk('bcc' in mail.headers || 'x-evil' in mail.headers)
    t.notMatch(mail.raw.split('\r\n\r\n')[0] + mail.text, /^(Bcc|X-Evil)/im, 'the text has no such line either')
  }
  const titles = (await svc.mailbox.to(to)).map(({ subject }) => subject)
  t.ok(titles.includes('One Bcc: eve@example.com X-Evil: yes end at svc Bcc: eve@example.com Evil'))

  const evil = [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com, eve@example.com',
    'ada@example.com;eve@example.com',
    'Ada <eve@example.com>',
    'eve@example.com> SIZE=1\r\nRCPT TO:<mallory@example.com',
    'group: eve@example.com;',
    'eve',
    '',
  ]
  for (const address of evil) await queue(svc, { ...verification, to: address })
  t.equal((await svc.mailbox.all()).length, 2, 'nothing was sent')
  t.match(
    await failures(svc),
    evil.map(() => ({ attempts: 1, failedAt: Date, lastError: 'Invalid email address.' })),
  )
  const from = 'Evil "x", eve@example.com <sender@example.com>'
  svc.config.swap({ ...svc.config.current(), mail: { ...svc.config.current().mail, from } })
  await queue(svc, { ...verification, to: 'last@example.com' })
  const [last] = await svc.mailbox.to('last@example.com')
  t.equal(last?.from, 'sender@example.com')
})

t.test('overrides templates file by file, and delays mails, but no answers, while one is broken', async (t) => {
  const directory = temporaryDirectory(t)
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null }, templates: { mail: directory } } })
  const write = (file: string, text: string) => writeFileSync(join(directory, file), text)
  const arrives = async () => {
    await queue(svc, verification)
    return (await svc.mailbox.to(to)).at(-1)
  }
  t.match(await arrives(), { subject: 'Verify your email address' })

  write('verify-email.txt.eta', 'Subject: Bestätige <%= it.data.link %>\n\nHallo von <%= it.app.url %>\n')
  t.match(await arrives(), {
    subject: `Bestätige ${link}`,
    text: /^Hallo von http:\/\/localhost:8000\n\nsvc sent this email\. Replies are not read\. http:\/\/localhost:8000\n/,
    html: /<h1[^>]*>Bestätige https/,
  })
  write('layout.html.eta', '<p><%= it.subject %></p><%~ it.body %>')
  t.match(await arrives(), { html: /^<p>Bestätige https:.*&quot;<\/p><h1/ })
  write('verify-email.html.eta', '<b><%= it.data.minutes %></b>')
  t.match(await arrives(), { html: /<\/p><b>60<\/b>/ })
  write('layout.txt.eta', '<%= it.body %>!')
  t.match(await arrives(), { text: 'Hallo von http://localhost:8000!\n' })

  const count = (await svc.mailbox.all()).length
  const breakages = [
    ['verify-email.txt.eta', 'Hallo', 'does not begin with a line "Subject: …"'],
    ['verify-email.txt.eta', 'Subject: \n\nHallo', 'does not begin with a line "Subject: …"'],
    ['verify-email.txt.eta', 'Subject: Hallo\n\n<%= it.nothing.there %>', 'cannot be rendered'],
    ['verify-email.txt.eta', 'Subject: Hallo\n\n<% if ( %>', 'cannot be rendered'],
    ['verify-email.txt.eta', "Subject: Hallo\n\n<%~ include('../../../../etc/passwd') %>", 'cannot be rendered'],
  ] as const
  for (const [file, text, reason] of breakages) {
    write(file, text)
    await queue(svc, verification)
    await svc.app.outbox.deliverDue()
    t.ok((await failures(svc)).at(-1)?.lastError?.includes(`${file} ${reason}`), reason)
  }
  t.equal((await svc.mailbox.all()).length, count)
  t.notMatch(svc.logs.join(''), /app\.example\.com/, 'the log has no link')
  rmSync(join(directory, 'verify-email.txt.eta'))
  svc.clock.advance(10 * second)
  t.equal((await svc.mailbox.all()).length, count + breakages.length, 'all mails are sent after the repair')
})

t.test('drops outdated mails and mails with an unknown template', async (t) => {
  const svc = await buildTestApp(t)
  await queue(svc, { ...verification, expiresAt: svc.clock.now() + minute })
  t.equal((await svc.mailbox.to(to)).length, 1, 'in time')
  const expiresAt = svc.clock.now() - 1
  await queue(svc, { ...verification, expiresAt })
  const elsewhere = { ...verification, id: 'x', at: 0, template: '../verify-email' }
  await svc.database.transaction((tx) => svc.app.outbox.add(tx, 'mail', elsewhere))
  t.equal((await svc.mailbox.all()).length, 1)
  t.match(await failures(svc), [
    { lastError: 'The mail has expired.', failedAt: Date },
    { lastError: 'Invalid template name.' },
  ])
})
