import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { oauthSettings, Person } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

export const site = 'https://id.example'
export const interaction = 'svc_oauth_interaction_'

/** svc on https, with a stopped clock. */
export function build(t: Test, more: Settings = {}) {
  const settings = { ...oauthSettings, app: { url: site, frontend_url: site }, ...more }
  return buildTestApp(t, { settings, clock: stopTime(t) })
}

/** A person with a separate browser. */
export const newPerson = (svc: TestApp, email = 'unknown@example.com', url = site) =>
  new Person(svc.browser({ origin: url, url, xsrf: false }), email, url)

/** The stored records by kind. */
export async function storedRecords({ database: { prisma } }: TestApp): Promise<Record<string, number>> {
  const rows = await prisma.oauthRecord.groupBy({ by: ['kind'], _count: true, where: { consumedAt: null } })
  return Object.fromEntries(rows.map(({ kind, _count }) => [kind, _count]))
}

/** The cookies of a browser whose names contain the part. */
export const cookiesOf = ({ plain }: Person, part = '') =>
  plain.browser.jar.getCookies(site).then((cookies) => cookies.filter(({ key }) => key.includes(part)))

/** Sends a request with exactly these cookies. */
export const open = (svc: TestApp, url: string, cookie: string): Promise<LightMyRequestResponse> =>
  svc.app.inject({ url, headers: { cookie, accept: 'text/html', 'sec-fetch-mode': 'navigate' } })

/** The uid of the first authorization among these cookies. */
export const uidOf = (path: string): string => /svc_oauth_interaction_([\w-]+)/.exec(path)?.[1] ?? ''
