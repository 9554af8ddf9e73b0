import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'

export const askPath = '/login/email-code'
export const verifyPath = '/login/email-code/verify'
export const askPage = '/oauth/email-code'
export const codePage = '/oauth/email-code/verify'

/** svc with sign-in by code, without limits on mail and failures unless a test sets them. */
export const codeApp = (t: Test, { rate_limits, ...settings }: Settings = {}): Promise<TestApp> =>
  buildTestApp(t, {
    settings: {
      login: { email_code: true },
      rate_limits: { mail: null, login: null, login_address: null, ...(rate_limits as object) },
      ...settings,
    },
  })

/** The code of the last mail to the address, without its space; empty without a mail. */
export const mailedCode = async (svc: TestApp, address: string): Promise<string> =>
  (await svc.mailbox.find(address, /^(\d{3} \d{3})\r?$/m)).replace(' ', '')

/** A code that is not this one. */
export const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** A browser that asked for a code. */
export async function asking(
  svc: TestApp,
  email: string,
  more: object = {},
  options: Parameters<TestApp['browser']>[0] = {},
): Promise<Browser> {
  const browser = svc.browser(options)
  await browser.get('/svc/csrf-cookie')
  const answer = await browser.post(askPath, { email, ...more })
  if (answer.statusCode !== 202) throw new Error(answer.body)
  return browser
}

export const enter = (browser: Browser, code: string) => browser.post(verifyPath, { code })

/** The id of the signed-in user, or null. */
export async function userOf(browser: Browser): Promise<number | null> {
  const answer = await browser.get('/api/user')
  return answer.statusCode === 200 ? answer.json().id : null
}
