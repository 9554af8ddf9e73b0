import type { Visit } from '../../auth/access/visit.ts'
import { sectionPath, sectionsOf } from '../../pages/account/account-pages.ts'
import { hasPasskey } from './store.ts'

/** Page that adds a passkey. */
export const newPasskeyPath = `${sectionPath('passkeys')}/new`

/** Tests whether to offer a passkey: the user signed in by password, has none, and can add one on svc's pages. */
export async function isOfferedPasskey({ app, caller, session }: Visit): Promise<boolean> {
  const config = app.config.current()
  const isShown = config.links.account === null && sectionsOf(app.features, config).includes('passkeys')
  if (!isShown || !caller?.user || !session.proof?.methods.includes('pwd')) return false
  return !(await hasPasskey(app.database, caller.user.id))
}
