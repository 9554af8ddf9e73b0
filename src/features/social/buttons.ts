import type { Config } from '../../config/schema.ts'
import type { SocialLink } from '../../plugins/pages/page-data.ts'
import { markOf } from './marks.ts'
import { listProviders } from './provider.ts'

/** The links of every configured provider, which lead back to a path of svc. */
export const socialButtons = (config: Config, returnTo: string | null): SocialLink[] =>
  listProviders(config).map(({ id, label }) => ({
    label,
    href: `/auth/${id}/redirect?${new URLSearchParams({ page: '1', ...(returnTo === null ? {} : { return_to: returnTo }) })}`,
    mark: markOf(id),
    letter: ([...label][0] ?? '').toUpperCase(),
  }))
