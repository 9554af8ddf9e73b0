import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { confirmPage } from '../../pages/links.ts'
import type { PagePart } from '../../pages/page-part.ts'
import type { TextName } from '../../pages/texts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { type Mark, markOf } from './marks.ts'
import { listProviders } from './providers/provider.ts'
import { listLinks } from './store.ts'

/** Appearance of a provider's button. */
export interface Branding {
  label: string
  mark: Mark | null
  /** First letter of the label, shown without a mark. */
  letter: string
  /** Class with the colours of a well-known provider. */
  brand: string | null
}

/** A sign-in button of a provider. */
export interface SocialLink extends Branding {
  href: string
}

/** Returns the appearance of a provider's button. */
export function brandingOf({ id, label }: { id: string; label: string }): Branding {
  const mark = markOf(id)
  return { label, mark, letter: ([...label][0] ?? '').toUpperCase(), brand: mark && `provider-${id}` }
}

/** Links to all configured providers that return to a path of svc. `isReauthentication` forces a new sign-in at the provider. */
export function socialLinks(
  config: Config,
  { returnTo, isReauthentication }: { returnTo: string | null; isReauthentication: boolean },
): SocialLink[] {
  const query = new URLSearchParams({
    page: '1',
    ...(isReauthentication ? { prompt: 'login' } : {}),
    ...(returnTo === null ? {} : { return_to: returnTo }),
  })
  return listProviders(config).map((provider) => ({
    ...brandingOf(provider),
    href: `/auth/${provider.id}/redirect?${query}`,
  }))
}

/** The buttons on the sign-in and registration pages. */
export function signInPart(config: Config, page: { returnTo: string | null; isReauthentication: boolean }): PagePart {
  const social = socialLinks(config, page)
  return { template: social.length > 0 ? join(import.meta.dirname, 'pages', 'login.eta') : null, data: { social } }
}

/** The buttons on the confirmation page: linked providers that prove when their user signed in. */
export async function confirmPart({ config, database }: Pick<FastifyInstance, 'config' | 'database'>, userId: number) {
  const linked = new Set((await listLinks(database, userId)).map(({ provider }) => provider))
  const providers = listProviders(config.current()).filter(({ id, provesTime }) => provesTime && linked.has(id))
  return confirmButtons(providers)
}

/** The confirmation buttons of these providers. */
export const confirmButtons = (providers: readonly { id: string; label: string }[]): PagePart => ({
  template: providers.length > 0 ? join(import.meta.dirname, 'pages', 'confirm.eta') : null,
  data: {
    providers: providers.map(({ id, label }) => ({
      id,
      action: `${confirmPage}/providers/${id}`,
      ...brandingOf({ id, label }),
    })),
  },
})

/** Text for the error code of a failed provider sign-in. */
export function alertOf(code: unknown): TextName {
  switch (code) {
    case 'access_denied':
    case 'expired':
    case 'email_missing':
    case 'email_unverified':
    case 'account_exists':
    case 'email_domain_not_allowed':
    case 'registration_disabled':
      return `login.${code}`
    default:
      return 'login.provider_failed'
  }
}
