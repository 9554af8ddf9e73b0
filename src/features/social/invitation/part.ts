import { join } from 'node:path'
import type { PagePart } from '../../../pages/page-part.ts'
import type { TextName } from '../../../pages/texts.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { brandingOf } from '../buttons.ts'
import { isSocialFailure } from '../failure.ts'
import { listProviders } from '../providers/provider.ts'

/** The buttons on the page of an invitation. */
export function invitationPart(config: Config, { action }: { action: string }): PagePart {
  const providers = listProviders(config).map((provider) => ({
    id: provider.id,
    action: `${action}/providers/${provider.id}`,
    ...brandingOf(provider),
  }))
  const template = join(import.meta.dirname, '..', 'pages', 'invitation.eta')
  return { template: providers.length > 0 ? template : null, data: { providers } }
}

/** Text for the error code of an invitation that a provider sign-in did not accept. */
export function invitationAlert(code: unknown): TextName | null {
  if (!isSocialFailure(code)) return null
  if (code === 'account_exists') return 'invitation.provider_taken'
  if (code === 'access_denied' || code === 'expired') return `login.${code}`
  return 'invitation.provider_failed'
}
