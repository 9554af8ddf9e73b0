import { runCommandOn } from '../../support/command.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import type { Row } from './live-rows.ts'
import { answered, type Observation, page, remoteGroups, signedIn, words } from './observations.ts'

/** How many browsers svc trusts after a user asked for it. */
const trustedBrowsers: Observation = async (svc) => {
  const { email, code } = await enableTwoFactor(svc)
  const browser = svc.browser()
  await browser.signIn(email)
  svc.clock.advance(60_000)
  await browser.post('/two-factor-challenge', { code: code(), trust_browser: true })
  return svc.database.prisma.trustedBrowser.count()
}

/** What an empty sign-in asks for. */
const signingInWithoutName: Observation = async (svc) => {
  const { browser } = await signedIn(svc)
  await browser.post('/logout')
  return (await browser.post('/login', {})).body
}

const oneField = { color: { schema: { type: 'string' }, write: ['user'], registration: 'optional' } }

/** More keys, most of them about user records. */
export const userRows: readonly Row[] = [
  [
    'claims',
    [{ claim: 'composed', clients: ['web'], value: 'x' }],
    words(/"(composed)"/, answered('/.well-known/openid-configuration', 'body')),
    null,
    'composed',
  ],
  ['guard.groups_separator', '|', remoteGroups, 'a,b', 'a|b'],
  ['groups.include_role', true, remoteGroups, 'a,b', 'a,b,user'],
  ['groups.names', { staff: 'Staff' }, async (svc) => (await runCommandOn(svc, 'group:list')).length, 0, 1],
  ['login.trust_browser', '30d', trustedBrowsers, 0, 1],
  ['login.identifiers', ['username'], words(/The (\w+) field is required/, signingInWithoutName), 'email', 'username'],
  ['users.fields', oneField, words(/name="fields\.(color)"/, page('/oauth/register')), null, 'color'],
  ['users.name_parts', true, words(/name="(given)_name"/, page('/oauth/register')), null, 'given'],
  ['app.security_contact', 'tel:+49-30-1', answered('/.well-known/security.txt', 'statusCode'), 404, 200],
]
