import { join } from 'node:path'
import type { Config } from '../../config/schema.ts'
import type { PagePart } from '../../pages/page-data.ts'
import type { TextName } from '../../pages/texts.ts'
import { type Mark, markOf } from './marks.ts'
import { listProviders } from './provider.ts'

/** A sign-in button of a provider. */
export interface SocialLink {
  href: string
  label: string
  mark: Mark | null
  /** First letter of the label, shown without a mark. */
  letter: string
}

/** Links to all configured providers that return to a path of svc. `isAnew` forces a new sign-in at the provider. */
export function socialLinks(
  config: Config,
  { returnTo, isAnew }: { returnTo: string | null; isAnew: boolean },
): SocialLink[] {
  const query = new URLSearchParams({
    page: '1',
    ...(isAnew ? { prompt: 'login' } : {}),
    ...(returnTo === null ? {} : { return_to: returnTo }),
  })
  return listProviders(config).map(({ id, label }) => ({
    label,
    href: `/auth/${id}/redirect?${query}`,
    mark: markOf(id),
    letter: ([...label][0] ?? '').toUpperCase(),
  }))
}

/** The buttons on the sign-in page. */
export function signInPart(config: Config, page: { returnTo: string | null; isAnew: boolean }): PagePart {
  const social = socialLinks(config, page)
  return { template: social.length > 0 ? join(import.meta.dirname, 'pages', 'login.eta') : null, data: { social } }
}

/** Text for the error code of a failed provider sign-in. */
export function alertOf(code: unknown): TextName {
  switch (code) {
    case 'access_denied':
    case 'expired':
    case 'email_missing':
    case 'email_unverified':
    case 'account_exists':
    case 'registration_disabled':
      return `login.${code}`
    default:
      return 'login.provider_failed'
  }
}
