import type { Config } from '../../config/schema.ts'
import type { SocialLink } from '../../pages/page-data.ts'
import { markOf } from './marks.ts'
import { listProviders } from './provider.ts'

/** Links to all configured providers that return to a path of svc. `isAnew` forces a new sign-in at the provider. */
export function socialButtons(config: Config, returnTo: string | null, isAnew: boolean): SocialLink[] {
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
