import type { FastifyRequest } from 'fastify'
import { sectionPath, sectionsOf } from '../../pages/account/account-pages.ts'
import { hasPasskey } from './store.ts'

/** Page that adds a passkey. */
export const newPasskeyPath = `${sectionPath('passkeys')}/new`

/** Tests whether to offer a passkey: the user signed in by password, has none, and can add one on svc's pages. */
export async function isOfferedPasskey({ caller, server, session }: FastifyRequest): Promise<boolean> {
  const config = server.config.current()
  const isShown = config.links.account === null && sectionsOf(server.features, config).includes('passkeys')
  if (!isShown || !caller?.user || !session.proof?.methods.includes('pwd')) return false
  return !(await hasPasskey(server.database, caller.user.id))
}
