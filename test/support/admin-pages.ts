import type { Test } from 'tap'
import { adminSettings } from './admin.ts'
import { buildTestApp, type Settings } from './app.ts'
import { ScriptlessBrowser } from './plain.ts'
import { enableTwoFactor } from './totp.ts'

/** Adds the pages at `/admin` to the settings. */
export const withAdminPages = (settings: Settings = {}) => ({
  ...adminSettings,
  ...settings,
  admin: { roles: ['admin'], pages: true, ...(settings.admin as object | undefined) },
})

/** An app with the admin pages, and an administrator who signed in on a page with a second factor. */
export async function openAdminPages(t: Test, settings: Settings = {}) {
  const svc = await buildTestApp(t, { settings: withAdminPages(settings) })
  const admin = await enableTwoFactor(svc, await svc.createUser({ email: 'boss@example.com', role: 'admin' }))
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', { email: admin.email, password: 'correct horse' })
  const signedIn = await browser.send('/oauth/login', { code: admin.code() })
  if (signedIn.statusCode !== 303) throw new Error(signedIn.body)
  const events = (type: string) => svc.database.prisma.event.findMany({ where: { type }, orderBy: { id: 'asc' } })
  return { svc, admin, browser, events }
}
