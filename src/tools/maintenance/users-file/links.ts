import { isMapping } from '../../../platform/config/walk.ts'
import { type IdentityLink, textOf } from './converted.ts'

/** Names of providers at other servers that differ from those of svc. */
const names: Readonly<Record<string, string>> = {
  'google-oauth2': 'google',
  'google.com': 'google',
  'github.com': 'github',
  'facebook.com': 'facebook',
  'apple.com': 'apple',
  'twitter.com': 'x',
  twitter: 'x',
  'linkedin-openid-connect': 'linkedin',
}

/** Providers whose users have another id at svc than at other servers. */
const otherIds: ReadonlySet<string> = new Set([
  'microsoft',
  'microsoft.com',
  'windowslive',
  'azure',
  'linkedin',
  'slack',
])

/** Reads links from a list, with the keys of the provider and of the id there. */
export function linksIn(list: unknown, { provider, id }: { provider: string; id: string }): IdentityLink[] {
  return (Array.isArray(list) ? list : []).filter(isMapping).flatMap((one) => {
    const [given, own] = [textOf(one[provider]), textOf(String(one[id] ?? ''))]
    if (given === null || own === null) return []
    return { provider: otherIds.has(given) ? null : (names[given] ?? given), given, id: own }
  })
}
