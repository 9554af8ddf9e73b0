import type { Test } from 'tap'
import { buildTestApp, type TestApp, testConfig } from '../../support/app.ts'
import { clients, oauthSettings, passwordClient } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'

/** The section of a version. */
export const terms = (version: string) => ({ version, url: `https://example.com/terms/${version}` })
const rate_limits = { register: null, login: null, mail: null }
export const settings = { ...oauthSettings, clients: [...clients, passwordClient], rate_limits }
/** The message of a refusal. */
export const text = 'You must accept the current terms of service.'
/** svc with version 2026-11. */
export const build = (t: Test, more: object = {}) =>
  buildTestApp(t, { settings: { ...settings, terms: terms('2026-11'), ...more }, clock: stopTime(t) })

/** Reloads the configuration with another version, or without terms. */
export const change = (svc: TestApp, version: string | null) =>
  svc.config.swap(testConfig({ ...settings, ...(version === null ? {} : { terms: terms(version) }) }).current())

/** Users and versions of the recorded acceptances, in order. */
export const acceptances = async ({ database }: TestApp) => {
  const rows = await database.prisma.event.findMany({ where: { type: 'terms_accepted' }, orderBy: { id: 'asc' } })
  return rows.map(({ data, userId }) => [Number(userId), JSON.parse(data).version])
}
