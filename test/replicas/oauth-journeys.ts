import { hash } from 'node:crypto'
import type { Test } from 'tap'
import { newKey, proof } from '../features/oauth/clients/parties.ts'
import { strongPassword } from '../support/accounts.ts'
import {
  hiddenFields,
  introspect,
  Person,
  post,
  redeem,
  refresh,
  request,
  response,
  type Tokens,
  token,
} from '../support/oauth.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { pass } from '../support/until.ts'
import { register, type Site } from './site.ts'

async function allow(person: Person, client: string): Promise<string> {
  const stop = await person.allow(request(client, { scope: 'openid orders:read' }))
  const { code } = response(stop)
  if (!code) throw new Error(`No code: ${stop.out ?? stop.answer.body}`)
  return code
}

const tokensFor = async (site: Site, person: Person): Promise<Tokens> =>
  (await redeem(site, 'web', await allow(person, 'web'))).json()

/** A new user, signed in without JavaScript. */
async function person(site: Site): Promise<Person> {
  const { email } = await register(site)
  const someone = new Person(remoteBrowser(site.url, { origin: site.url, xsrf: false }), email, site.url)
  await someone.plain.send('/oauth/login', { email, password: strongPassword })
  return someone
}

const good = (statuses: number[]): number => statuses.filter((status) => status === 200).length

/** Journeys of OAuth clients. */
export function oauthJourneys(t: Test, site: Site): void {
  t.test('completes a code flow with consent, and accepts the code once', async (t) => {
    const someone = await person(site)
    const code = await allow(someone, 'spa')
    const answer = await redeem(site, 'spa', code)
    t.equal(answer.statusCode, 200)
    t.same(await site.together(4, () => redeem(site, 'spa', code)), [400, 400, 400, 400])
    const stolen = answer.json().access_token
    t.equal((await requestWithBearer(site.url, stolen, '/api/user')).statusCode, 401, 'a second use revokes the first')
    const other = await allow(someone, 'spa')
    t.ok(good(await site.together(4, () => redeem(site, 'spa', other))) <= 1, 'at most one of several concurrent ones')
    const { access_token } = await tokensFor(site, someone)
    t.equal((await requestWithBearer(site.url, access_token, '/oauth/userinfo')).statusCode, 200)
    t.match(await introspect(site, 'web', access_token), { active: true })
    t.equal((await post(site, '/oauth/revoke', 'web', { token: access_token })).statusCode, 200)
    t.same(await site.together(4, () => requestWithBearer(site.url, access_token, '/api/user')), [401, 401, 401, 401])
  })

  t.test('issues one successor within the grace period, and revokes all after it', async (t) => {
    const first = await tokensFor(site, await person(site))
    const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(site, 'web', first.refresh_token)))
    const successors: Tokens[] = answers.map((answer) => answer.json())
    t.same([...new Set(answers.map(({ statusCode }) => statusCode))], [200])
    t.equal(new Set(successors.map(({ refresh_token }) => refresh_token)).size, 1, 'the same from each replica')
    const { refresh_token = '', access_token = '' } = successors[0] ?? {}
    t.match(await introspect(site, 'web', refresh_token), { active: true })
    await pass(1_500)
    t.equal((await refresh(site, 'web', first.refresh_token)).statusCode, 400, 'reuse after the grace period')
    t.same(await introspect(site, 'web', refresh_token), { active: false })
    t.same(await site.together(4, () => requestWithBearer(site.url, access_token, '/api/user')), [401, 401, 401, 401])
  })

  t.test('accepts a pushed authorization request', async (t) => {
    const someone = await person(site)
    const { request_uri } = (await post(site, '/oauth/par', 'web', request('web', { scope: 'openid' }))).json()
    const { code = '' } = response(await someone.allow({ client_id: 'web', request_uri }))
    t.equal((await redeem(site, 'web', code)).statusCode, 200)
    t.match(response(await someone.authorize({ client_id: 'web', request_uri })), { error: /invalid_request/ })
  })

  t.test('connects a device', async (t) => {
    const someone = await person(site)
    const device = (await post(site, '/oauth/device/code', 'tv', { scope: 'orders:read' })).json()
    const confirm = await someone.press(await someone.go('/oauth/device'), { user_code: device.user_code })
    t.match(hiddenFields(confirm.answer.body), { user_code: /./ })
    await someone.decide(await someone.press(confirm, { confirm: 'yes' }))
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const poll = () => token(site, 'tv', { grant_type, device_code: device.device_code })
    t.equal((await poll()).statusCode, 200)
    t.same(await site.together(4, poll), [400, 400, 400, 400], 'the code works once')
  })

  t.test('accepts a DPoP proof once', async (t) => {
    const someone = await person(site)
    const key = await newKey('ES256')
    const code = await allow(someone, 'spa')
    const dpopAt = (method: string, path: string, more = {}) =>
      proof(key, method, '', { htu: site.url + path, ...more })
    const form = {
      grant_type: 'authorization_code',
      code,
      client_id: 'spa',
      redirect_uri: 'https://spa.example/cb',
      code_verifier: 'a-random-code-verifier-of-the-tests-0123456789',
    }
    const answer = await sendRequest(site.url, {
      method: 'POST',
      url: '/oauth/token',
      headers: { dpop: await dpopAt('POST', '/oauth/token'), 'content-type': 'application/x-www-form-urlencoded' },
      payload: Buffer.from(new URLSearchParams(form).toString()),
    })
    const { access_token } = answer.json()
    const ath = hash('sha256', access_token, 'base64url')
    for (const path of ['/api/user', '/oauth/userinfo']) {
      const dpop = await dpopAt('GET', path, { ath })
      const headers = { authorization: `DPoP ${access_token}`, dpop, accept: 'application/json' }
      t.same(await site.together(4, () => sendRequest(site.url, { url: path, headers })), [200, 401, 401, 401], path)
    }
  })
}
