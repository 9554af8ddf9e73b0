// engine: none
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import { codeFlow, Person, post, redeem, refresh, request, response, token } from '../../../support/oauth.ts'
import { travel } from '../../../support/time.ts'
import { buildApis, facts, orders, stock, svcAudience } from './setup.ts'

const person = async (svc: TestApp) => new Person(svc, (await svc.createUser()).email)
const several = (...resources: string[]) => resources.map((one) => `&resource=${encodeURIComponent(one)}`).join('')

/** A code for the scopes of two APIs. */
async function codeForTwo(ada: Person): Promise<string> {
  const scope = 'openid offline_access orders:read stock:read'
  const query = new URLSearchParams(request('web', { scope, prompt: 'consent' })) + several(orders, stock)
  const { code = '' } = response(await ada.decide(await ada.authorize(query)))
  return code
}

t.test('issues each token of a grant with several resources for one resource', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  await ada.signIn()
  const code = await codeForTwo(ada)
  const vague = await redeem(svc, 'web', code)
  t.match(
    [vague.statusCode, vague.json()],
    [400, { error: 'invalid_target', error_description: /Send one resource of/ }],
  )
  const first = (await redeem(svc, 'web', code, { resource: orders })).json()
  t.match(facts(first.access_token), { aud: orders, scope: 'openid offline_access orders:read', alg: 'ES256' })
  const second = (await refresh(svc, 'web', first.refresh_token, { resource: stock })).json()
  t.match(facts(second.access_token), { aud: stock, scope: 'openid offline_access stock:read', alg: 'EdDSA', ttl: 120 })
  const third = (await refresh(svc, 'web', second.refresh_token, { scope: 'orders:read' })).json()
  t.match(facts(third.access_token), { aud: orders, scope: 'orders:read' }, 'the scope chooses')
  for (const more of [
    { resource: svcAudience },
    { resource: stock, scope: 'orders:read' },
    { scope: 'orders:read stock:read' },
    {},
  ]) {
    const answer = await refresh(svc, 'web', third.refresh_token, more)
    t.match([answer.statusCode, answer.json().error], [400, 'invalid_target'], JSON.stringify(more))
  }
})

t.test('never widens the resource or the scopes of a refresh token', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const { refresh_token } = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  const cases: [Record<string, string> | string, string][] = [
    [{ resource: stock }, 'invalid_target'],
    [{ resource: svcAudience }, 'invalid_target'],
    [{ resource: `${orders}#x` }, 'invalid_target'],
    [{ resource: 'orders' }, 'invalid_target'],
    [{ scope: 'orders:read orders:write' }, 'invalid_scope'],
    [{ scope: 'stock:read', resource: stock }, 'invalid_scope'],
  ]
  for (const [more, error] of cases) {
    const answer = await refresh(svc, 'web', refresh_token, Object(more))
    t.match([answer.statusCode, answer.json().error], [400, error], JSON.stringify(more))
  }
  const form = `grant_type=refresh_token&refresh_token=${refresh_token}${several(orders, stock)}`
  t.match((await token(svc, 'web', form)).json(), { error: 'invalid_target' }, 'two at once')
  travel(svc, minute)
  const renewed = (await refresh(svc, 'web', refresh_token, { resource: orders, scope: 'openid' })).json()
  t.match(facts(renewed.access_token), { aud: orders, scope: 'openid' }, 'narrower, and no refusal used up the token')
})

t.test('rejects a code for another resource than the authorized one', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const { code = '' } = response(await ada.allow(request('web', { scope: 'orders:read' })))
  const answer = await redeem(svc, 'web', code, { resource: stock })
  const error_description = `The grant does not include the resource ${stock}.`
  t.match([answer.statusCode, answer.json()], [400, { error: 'invalid_target', error_description }])
  t.equal((await redeem(svc, 'other', code)).statusCode, 400, 'a code of another client')
  const repeated = await redeem(svc, 'web', code, { resource: orders })
  t.match(facts(repeated.json().access_token), { aud: orders }, 'the refusal did not use up the code')
})

t.test('ignores scope and resource beside a pushed request', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const asked = request('web', { scope: 'openid stock:read', resource: stock })
  const { request_uri } = (await post(svc, '/oauth/par', 'web', asked)).json()
  const swapped = { client_id: 'web', request_uri, scope: 'orders:read orders:write', resource: orders }
  const page = await ada.authorize(swapped)
  const { code = '' } = response(page.out ? page : await ada.allow(swapped))
  const { access_token } = (await redeem(svc, 'web', code)).json()
  t.match(facts(access_token), { aud: stock, scope: 'openid stock:read' })
})

t.test('lists the scopes of the API on the consent page', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  await ada.signIn()
  const { answer } = await ada.authorize(request('web', { scope: 'openid orders:read orders:write' }))
  t.match(answer.body, /See your orders[\s\S]*Change your orders/)
  const other = (await ada.authorize(request('web', { scope: 'stock:read' }))).answer.body
  t.match(other, 'stock:read', 'by its name, without a description')
  t.notMatch(other, /\borders:/)
  const both = await ada.authorize(
    `${new URLSearchParams(request('web', { scope: 'orders:read stock:read' }))}${several(orders, stock)}`,
  )
  t.match(both.answer.body, /See your orders[\s\S]*stock:read/)
})

t.test('accepts repeated resources as one, and rejects many unknown ones', async (t) => {
  const svc = await buildApis(t)
  const grant = 'grant_type=client_credentials'
  const same = await token(svc, 'machine', grant + several(...Array<string>(500).fill(orders)))
  t.match(facts(same.json().access_token), { aud: orders })
  const two = await token(svc, 'machine', `${grant}&scope=orders:read${several(orders, stock)}`)
  t.match([two.statusCode, two.json().error], [400, 'invalid_target'])
  const many = Array.from({ length: 900 }, (_, index) => `https://${index}.example`)
  const answer = await token(svc, 'machine', grant + several(...many))
  t.match([answer.statusCode, answer.json().error], [400, 'invalid_target'])
})
