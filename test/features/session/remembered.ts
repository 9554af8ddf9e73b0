import type { User } from '../../../src/identity/user.ts'
import type { TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour } from '../../support/clock.ts'

export const spaHeaders = { origin: 'http://localhost:5173', accept: 'application/json' }

export const sessionCount = (svc: TestApp): Promise<number> => svc.database.prisma.session.count()

export const tokens = (svc: TestApp) => svc.database.prisma.rememberToken.findMany({ orderBy: { id: 'asc' } })

/** A request with a remember cookie and nothing else. */
export const present = (svc: TestApp, cookie: string | undefined, url = '/api/user') =>
  svc.app.inject({ url, headers: { ...spaHeaders, cookie: `svc_remember=${cookie}` } })

/** A user, a remembered browser, and its cookie, without a session. */
export async function rememberedBrowser(
  svc: TestApp,
): Promise<{ user: User; spa: Browser; cookie: string | undefined }> {
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email, undefined, { remember: true })
  const cookie = await spa.cookie('svc_remember')
  svc.clock.advance(3 * hour)
  await svc.database.prisma.session.deleteMany({ where: { userId: BigInt(user.id) } })
  return { user, spa, cookie }
}
