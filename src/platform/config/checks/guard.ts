import { hiddenRules } from '../../guard-rules/coverage.ts'
import { parseHost } from '../../guard-rules/host-pattern.ts'
import { type Finding, placeText, type Report } from '../findings.ts'
import { isWithin } from '../hosts.ts'
import type { Config } from '../schema.ts'

type Rule = Config['guard']['rules'][number]

/** Rules about the rules of the guard. */
export const guardChecks = [audiencesExist, namesAreUnique, requirementsCanBeMet, rulesAreReached] as const

function audiencesExist({ apis, guard }: Config, report: Report): void {
  for (const [index, { audience, access }] of guard.rules.entries()) {
    const path = ['guard', 'rules', index, 'audience']
    if (audience === null) continue
    if (!Object.hasOwn(apis, audience)) report(path, `must be the name of an API in apis (found "${audience}")`)
    else if (access === 'public')
      report(path, 'must not be set in a public rule, because svc does not identify its callers')
  }
}

function namesAreUnique({ guard }: Config, report: Report): void {
  const names = guard.rules.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (name !== null && names.indexOf(name) < index)
      report(['guard', 'rules', index, 'name'], `must be unique (found "${name}" twice)`)
  }
}

/** The requirements that only users can meet, and those that only browser sessions can meet. */
const ofUser = ({ roles, groups, all_groups, verified }: Rule) => ({
  roles: roles !== null,
  groups: groups !== null,
  all_groups: all_groups !== null,
  verified,
})
const ofSession = ({ second_factor, confirmed_within }: Rule) => ({
  second_factor,
  confirmed_within: confirmed_within !== null,
})

const setKeys = (keys: Record<string, boolean>): string[] => Object.keys(keys).filter((key) => keys[key])

function requirementsCanBeMet({ guard }: Config, report: Report): void {
  for (const [index, rule] of guard.rules.entries()) {
    const path = ['guard', 'rules', index]
    const { access, credentials, abilities, any_ability } = rule
    const ofCredential = {
      credentials: credentials !== null,
      abilities: abilities !== null,
      any_ability: any_ability !== null,
    }
    const required = setKeys({ ...ofCredential, bound: rule.bound, ...ofUser(rule), ...ofSession(rule) })
    if (access === 'public' && required.length > 0)
      report([...path, 'access'], `must not be public in a rule that requires ${required.join(', ')}`)
    const browser = setKeys(ofSession(rule))
    if (credentials !== null && !credentials.includes('session') && browser.length > 0)
      report([...path, 'credentials'], `must include session, because only a session satisfies ${browser.join(', ')}`)
  }
}

/** Skips named rules, because a proxy can select them by name. */
function rulesAreReached({ guard }: Config, report: Report): void {
  for (const { rule, by } of hiddenRules(guard.rules)) {
    if (guard.rules[rule]?.name) continue
    const found = guard.rules[by]?.place
    const place = found ? ` (${placeText(found)})` : ''
    report(
      ['guard', 'rules', rule],
      `is never used, because guard.rules[${by}]${place} matches the same requests first; move it up or remove it`,
    )
  }
}

/** Warns about rules that accept sessions for hosts that never receive the session cookie. */
export function guardWarnings({ app, guard, session }: Config): Finding[] {
  const domain = session.domain?.replace(/^\./, '').toLowerCase() ?? null
  const own = new URL(app.url).hostname
  const receives = (pattern: string): boolean => {
    const host = parseHost(pattern.toLowerCase().replace(/^\*\./, ''))?.name ?? ''
    return domain === null ? host === own && !pattern.startsWith('*') : isWithin(host, domain)
  }
  return guard.rules.flatMap(({ access, credentials, hosts }, index) => {
    if (access === 'public' || (credentials !== null && !credentials.includes('session'))) return []
    return (hosts ?? [])
      .filter((host) => !receives(host))
      .map((host) => ({
        path: ['guard', 'rules', index, 'hosts'],
        message:
          `browsers do not send the session cookie to ${host}. ` +
          (domain === null
            ? 'Set session.domain to a domain that includes it and app.url, '
            : `It is not within session.domain, ${domain}. Use a host below it, `) +
          'or accept tokens only: credentials: [token, jwt].',
      }))
  })
}
