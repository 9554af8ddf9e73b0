import { requireUser } from '../../../auth/access/caller.ts'
import type { Visit } from '../../../auth/access/visit.ts'
import { findTwoFactor } from '../../../identity/two-factor.ts'
import { sectionPath } from '../../../pages/account/account-pages.ts'
import type { AccountPageData } from '../../../pages/account-page-data.ts'

/** Paths of the section. */
export const section = sectionPath('two-factor')
export const setupPath = `${section}/setup`
export const confirmPath = `${section}/confirm`
export const disablePath = `${section}/disable`
export const codesPath = `${section}/recovery-codes`
export const downloadPath = `${codesPath}/download`

/** Whether changes of the second factor require a recent confirmation. */
export const recentPassword = ({ two_factor }: { two_factor: { confirm_password: boolean } }): boolean =>
  two_factor.confirm_password

/** Returns the user's recovery codes for the page that shows them after their creation. */
export async function shownCodes(
  visit: Visit,
  nextHref: string = section,
): Promise<AccountPageData['account-recovery-codes']> {
  const { database, secondFactor } = visit.app
  const { id, email } = requireUser(visit)
  const stored = await findTwoFactor(database, id)
  const codes = stored ? secondFactor.recoveryCodesOf(id, stored) : []
  return { email, codes, downloadAction: downloadPath, nextHref }
}
