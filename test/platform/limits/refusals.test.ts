// engine: none
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { oauthSettings } from '../../support/oauth.ts'
import { sources } from '../../support/sources.ts'
import { stopTime } from '../../support/time.ts'
import { off, others, routes, trusted } from './cases.ts'

function checkShape(t: Test, svc: TestApp, { statusCode, headers, body }: LightMyRequestResponse, max: number) {
  t.equal(statusCode, 429)
  const wait = Number(headers['retry-after'])
  t.ok(Number.isSafeInteger(wait) && wait > 0, 'Retry-After has seconds')
  t.match(headers, {
    'x-ratelimit-limit': String(max),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(svc.clock.now() / 1000) + wait),
    'cache-control': /no-store/,
  })
  if (!/html/.test(String(headers['content-type']))) checkBody(t, JSON.parse(body))
}

/** The body of the protocol at its endpoints, otherwise that of every error of svc. */
function checkBody(t: Test, body: object) {
  const isProtocol = 'error' in body
  const names = isProtocol ? ['error,error_description'] : ['code,message', 'code,errors,message']
  t.ok(names.includes(Object.keys(body).sort().join()), Object.keys(body).join())
  const message = /^Too [Mm]any /
  t.match(
    body,
    isProtocol
      ? { error: 'temporarily_unavailable', error_description: message }
      : { code: 'too_many_requests', message },
  )
}

for (const [name, { rates, reach, max = 1 }] of Object.entries({ ...routes, ...others })) {
  t.test(`answers with the headers of limits: ${name}`, async (t) => {
    const social = { github: { client_id: 'x', client_secret: 'y' } }
    const settings = {
      ...oauthSettings,
      login: { email_code: true },
      clients: [...oauthSettings.clients, trusted],
      social,
    }
    const svc = await buildTestApp(t, {
      settings: { ...settings, rate_limits: { ...off, ...rates } },
      clock: stopTime(t),
    })
    checkShape(t, svc, await reach(svc), max)
  })
}

t.test('covers every route with a limit', async (t) => {
  const declared = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\blimit: (?:'(\w+)'|(\w+))/g)].map(([, name, constant]) => `${file}: ${name ?? constant}`),
  )
  // The admin API and what clients manage with it have one limit for all routes. The limits of webhooks are numbers of rows.
  const others = /^features\/(admin|scim|shared-signals|webhooks)\//
  // Both addresses of verification links are one declaration.
  t.same(declared.filter((line) => line.startsWith('features/') && !others.test(line)).sort(), [
    'features/email-code/pages/routes.ts: mail',
    'features/email-code/routes.ts: mail',
    'features/email-code/routes.ts: mail',
    'features/email-verification/page-routes.ts: mail',
    'features/email-verification/routes.ts: link',
    'features/email-verification/routes.ts: mail',
    'features/invitations/routes.ts: register',
    'features/oauth/applications/routes.ts: freshTokenLimit',
    'features/passkeys/app-routes.ts: challengeLimit',
    'features/passkeys/app-routes.ts: challengeLimit',
    'features/passkeys/invitation-routes.ts: register',
    'features/passkeys/routes.ts: challengeLimit',
    'features/passkeys/second-factor-routes.ts: challengeLimit',
    'features/password-confirmation/page-routes.ts: mail',
    'features/password-confirmation/routes.ts: mail',
    'features/password-reset/page-routes.ts: mail',
    'features/password-reset/routes.ts: mail',
    'features/profile/export-routes.ts: exportLimit',
    'features/profile/export-routes.ts: exportLimit',
    'features/registration/page-routes.ts: register',
    'features/registration/routes.ts: register',
    'features/registration/routes.ts: register',
    'features/social/invitation/routes.ts: register',
    'features/social/mobile.ts: token',
    'features/social/routes.ts: token',
  ])
  t.equal(Object.keys(routes).length, 27)
})
