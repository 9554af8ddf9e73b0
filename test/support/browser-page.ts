import type { Page } from 'playwright-core'
import { ada } from './listening.ts'

/** Records browser errors on a page, above all violations of the security policy. */
export function complaintsOf(page: Page, expected?: RegExp): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    // Pages of svc have no icon, and browsers request one.
    const isExpected = message.location().url.endsWith('/favicon.ico') || expected?.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return complaints
}

/** Fills in and submits the sign-in form. */
export async function submitSignIn(page: Page, password = ada.password): Promise<void> {
  await page.fill('#email', ada.email)
  await page.fill('#password', password)
  await page.click('#login-submit')
  await afterForm(page)
}

/** Waits until the page that continues after a form has done so. */
export async function afterForm(page: Page): Promise<void> {
  await page.waitForSelector('body:not(:has(#continue))')
}
