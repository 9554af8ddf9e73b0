import type { Config } from '../../config/schema.ts'
import { listProviders } from './provider.ts'

/** A link to a provider on svc's own sign-in page. */
interface SocialButton {
  label: string
  href: string
  /** A small sign for it: the first letter of its name. */
  mark: string
}

/** The links of every configured provider, which lead back to a path of svc. */
export const socialButtons = (config: Config, returnTo: string | null): SocialButton[] =>
  listProviders(config).map(({ id, label }) => ({
    label,
    href: `/auth/${id}/redirect?${new URLSearchParams({ page: '1', ...(returnTo === null ? {} : { return_to: returnTo }) })}`,
    mark: ([...label][0] ?? '').toUpperCase(),
  }))
