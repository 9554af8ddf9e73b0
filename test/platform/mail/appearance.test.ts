// engine: none
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { defaultColors } from '../../../src/platform/config/theme-colors.ts'
import type { MailDraft } from '../../../src/platform/mail/mail.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { axeFindings } from '../../support/axe.ts'
import { hasChromium, openChromium } from '../../support/chromium.ts'
import type { ReceivedMail } from '../../support/smtp.ts'
import { root } from '../../support/sources.ts'

const to = 'ada@example.com'
const link = `https://app.example.com/verify?token=${'a1b2c3d4'.repeat(12)}`
const notice = {
  kind: 'passkey_added',
  when: '2026-11-20T12:00:00.000Z',
  ipAddress: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
  userAgent: 'Firefox on Windows',
  newEmail: null,
  undo: null,
  provider: null,
  application: 'Example phone',
  remedy: 'review',
  reviewLink: 'https://id.example.com/account/passkeys',
  resetLink: 'https://id.example.com/oauth/forgot-password',
  helpLink: null,
}
const device = { ipAddress: notice.ipAddress, userAgent: notice.userAgent }

/** Every mail. */
const drafts: Record<string, Pick<MailDraft, 'template' | 'data'>> = {
  verify: { template: 'verify-email', data: { link, minutes: 60 } },
  reset: { template: 'reset-password', data: { link, minutes: 60 } },
  unlock: { template: 'unlock-sign-in', data: { link, minutes: 60 } },
  invitation: { template: 'invitation', data: { link, days: 7, hours: 168 } },
  confirmation: { template: 'confirmation-code', data: { code: '123456', minutes: 10 } },
  login: { template: 'login-code', data: { code: '123456', link, minutes: 10, ...device } },
  review: { template: 'security-notice', data: notice },
  reset_first: { template: 'security-notice', data: { ...notice, kind: 'new_sign_in', remedy: 'reset' } },
  undo: {
    template: 'security-notice',
    data: { ...notice, kind: 'email_changed', newEmail: 'g…@example.org', remedy: 'undo', undo: link },
  },
  contact: {
    template: 'security-notice',
    data: { ...notice, kind: 'account_deleted', remedy: 'contact', helpLink: 'https://help.example.com/' },
  },
}

/** Mails one draft through SMTP. */
async function mailed(svc: TestApp, name: string, language: string | null = null): Promise<ReceivedMail> {
  const draft = drafts[name]
  if (!draft) throw new Error(`No draft ${name}`)
  await svc.database.transaction((tx) =>
    svc.app.mail.queue(tx, { to, language, ...draft }, { share: 'guest', userId: null, ipAddress: null }),
  )
  const mail = (await svc.mailbox.to(to)).at(-1)
  if (!mail) throw new Error('No mail')
  return mail
}

const build = (theme: Settings = {}) =>
  buildTestApp(t, {
    settings: {
      app: { name: 'Acme & Söhne', url: 'https://id.example.com' },
      rate_limits: { mail: null },
      theme,
    },
  })

/** The texts of the HTML part, without the heading, which is the subject, and those that only explain a button. */
const textsOf = (html: string): string[] =>
  (/<body[\s\S]+/.exec(html)?.[0] ?? '')
    .replace(/<a [^>]*class="mail-button"[^>]*>[^<]*<\/a>/g, '')
    .replace(/<h1 [^>]*>[^<]*<\/h1>/, '')
    .replace(/<p class="mail-small"[^>]*>[^<]*<br>/g, '')
    .split(/<[^>]*>/)
    .map((text) => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"').trim())
    .filter((text) => text !== '')

t.test('has the same content in the text part and the HTML part', async (t) => {
  const svc = await build()
  for (const language of ['en', 'de', 'ar']) {
    for (const name of Object.keys(drafts)) {
      const { html, text, subject } = await mailed(svc, name, language)
      const words = textsOf(html)
      t.ok(words.length >= 4, 'the HTML has texts')
      const plain = `${subject}\n${text}\nAcme & Söhne`
      t.strictSame(
        words.filter((said) => !plain.includes(said)),
        [],
        `${name} in ${language}`,
      )
    }
  }
})

t.test('has the default colours of the pages', async (t) => {
  const css = readFileSync(join(root, 'src/pages/templates/style.css'), 'utf8')
  for (const [name, modes] of Object.entries(defaultColors)) {
    const found = [...css.matchAll(new RegExp(`--${name}: (#\\w+);`, 'g'))].map(([, color]) => color)
    t.strictSame(found.slice(0, 2), modes, name)
  }
})

t.test('follows the colours of the theme, in dark mode too', async (t) => {
  const colors = {
    accent: '#7a1fa2',
    'accent-dark': '#e0b0ff',
    surface: '#fffdf5',
    text: '#101010',
    'text-dark': '#fafafa',
  }
  const { html } = await mailed(await build({ colors }), 'verify')
  t.match(html, /class="mail-button" style="[^"]*background-color: #7a1fa2; border-color: #7a1fa2; color: #ffffff"/)
  t.match(html, /class="mail-card" style="[^"]*background-color: #fffdf5/)
  const dark = /@media \(prefers-color-scheme: dark\) \{([\s\S]*?)\n\}/.exec(html)?.[1] ?? ''
  t.match(dark, '.mail-button { background-color: #e0b0ff !important; border-color: #e0b0ff !important;')
  t.match(
    dark,
    '.mail-card { background-color: #fffdf5 !important;',
    'like the pages: one colour applies to both modes',
  )
  t.match(dark, 'color: #fafafa !important')
  t.match(html, '<meta name="color-scheme" content="light dark">')
})

t.test('shows the logo by its absolute URL, or the name where mail programs do not show it', async (t) => {
  const logoOf = async (logo: string | null) => {
    const { html, raw } = await mailed(await build({ logo }), 'verify')
    return { src: /<img src="([^"]+)" alt="Acme &amp; Söhne"/.exec(html)?.[1] ?? null, html, raw }
  }
  t.equal((await logoOf('/logo.png')).src, 'https://id.example.com/logo.png')
  t.equal((await logoOf('https://cdn.example.com/l.png?a=1&b=2')).src, 'https://cdn.example.com/l.png?a=1&amp;b=2')
  for (const logo of [
    null,
    '/logo.svg',
    'data:image/svg+xml;base64,PHN2Zy8+',
    'data:text/html;base64,PHN2Zy8+',
    'ftp://x/y.png',
  ]) {
    const { src, html, raw } = await logoOf(logo)
    t.equal(src, null, String(logo))
    t.match(html, />\s*Acme &amp; Söhne\s*<\/td>/, 'the name instead')
    t.notMatch(raw, /multipart\/related/)
  }
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const attached = await logoOf(`data:image/png;base64,${pixel}`)
  t.equal(attached.src, 'cid:logo@id.example.com', 'mail programs block data: URLs')
  t.match(
    attached.raw,
    /Content-Type: image\/png[\s\S]+Content-ID: <logo@id\.example\.com>|Content-ID: <logo@id\.example\.com>[\s\S]+Content-Type: image\/png/,
  )
  t.ok(attached.raw.replaceAll('\r\n', '').includes(pixel))
})

if (hasChromium(t)) {
  t.test('is readable in a browser: light, dark, narrow and right to left', async (t) => {
    const svc = await build()
    const shots = process.env.MAIL_SHOTS
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await openChromium(t, { colorScheme, viewport: { width: 320, height: 640 } })
      const page: Page = await context.newPage()
      for (const language of ['en', 'de', 'ar']) {
        for (const name of Object.keys(drafts)) {
          const { html } = await mailed(svc, name, language)
          await page.setContent(html)
          const label = `${name} in ${language}, ${colorScheme}`
          t.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, `${label}: fits 320 px`)
          t.strictSame(await axeFindings(page, 'color-contrast'), [], `${label}: contrast`)
          if (shots) await page.screenshot({ path: `${shots}/${name}-${language}-${colorScheme}.png`, fullPage: true })
          if (language !== 'ar') continue
          const side =
            "getComputedStyle(document.querySelector('.mail-text')).textAlign + getComputedStyle(document.querySelector('.mail-text')).direction"
          t.equal(await page.evaluate(side), 'rightrtl', label)
        }
      }
    }
  })
}
