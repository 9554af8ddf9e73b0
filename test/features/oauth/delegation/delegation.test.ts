// engine: both
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { minute, second } from '../../../support/clock.ts'
import { hiddenFields } from '../../../support/oauth.ts'
import { credentials, ScriptlessBrowser } from '../../../support/plain.ts'
import { travel } from '../../../support/time.ts'
import { accessToken, act, buildAgents, introspect, notes, orders, post, settings, shopToken, stock } from './setup.ts'

t.test('lets an agent act for a user with fewer rights, and names it in the token', async (t) => {
  const svc = await buildAgents(t)
  const { user, token } = await shopToken(svc, notes)
  const answer = await act(svc, 'assistant', token)
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { scope: 'notes:read', expires_in: 300, issued_token_type: accessToken })
  const { access_token } = answer.json()
  const claims = decodeJwt(access_token)
  t.match(claims, { sub: String(user.id), client_id: 'assistant', aud: 'http://localhost:8000' })
  t.same(claims.act, { sub: 'assistant' })
  t.match(await introspect(svc, access_token), {
    active: true,
    sub: String(user.id),
    client_id: 'assistant',
    act: { sub: 'assistant' },
  })
  t.match((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await act(svc, 'plain', token)).statusCode, 200)
  t.equal(decodeJwt((await act(svc, 'plain', token)).json().access_token).act, undefined, 'a client that may not act')
  const event = await svc.database.prisma.event.findFirstOrThrow({ where: { type: 'agent_acted' } })
  t.match(event, { userId: BigInt(user.id), actor: 'client:assistant', data: /"client_id":"assistant"/ })
})

t.test('limits the scopes, the APIs and the lifetime of an agent', async (t) => {
  const svc = await buildAgents(t)
  const { token } = await shopToken(svc, { scope: 'orders:read orders:write', resource: orders })
  const whole = (await act(svc, 'narrow', token)).json()
  t.match(whole, { scope: 'orders:read', expires_in: 60 }, 'without scope, what both allow')
  t.equal(decodeJwt(whole.access_token).aud, orders)
  t.equal(
    (await act(svc, 'narrow', token, { scope: 'orders:write' })).json().error,
    'invalid_scope',
    'a scope of the user',
  )
  t.equal((await act(svc, 'narrow', token, { scope: 'svc:admin' })).json().error, 'invalid_scope')
  const { token: stockToken } = await shopToken(svc, { scope: 'stock:read', resource: stock })
  t.match((await act(svc, 'narrow', stockToken, { scope: 'stock:read' })).json(), {
    error: 'invalid_target',
    error_description: /may not act for users at this API/,
  })
  const { token: notesToken } = await shopToken(svc, notes)
  t.equal(
    (await act(svc, 'narrow', notesToken, { resource: 'http://localhost:8000' })).json().error,
    'invalid_target',
    'the default audience',
  )
  travel(svc, 13 * minute)
  t.match((await act(svc, 'assistant', token)).json(), { expires_in: 120 }, 'not longer than the token of the user')
})

t.test('chains at most three actors, the latest first', async (t) => {
  const svc = await buildAgents(t)
  const { token } = await shopToken(svc, notes)
  const first = (await act(svc, 'assistant', token)).json().access_token
  const two = (await act(svc, 'second', first)).json().access_token
  const three = (await act(svc, 'third', two)).json().access_token
  t.same(decodeJwt(three).act, { sub: 'third', act: { sub: 'second', act: { sub: 'assistant' } } })
  const four = await act(svc, 'fourth', three)
  t.match(four.json(), { error: 'invalid_grant', error_description: /3 actors, which is the maximum/ })
  t.equal(
    (await act(svc, 'assistant', three)).json().error,
    'invalid_request',
    'a token of a client that is not in exchange',
  )
  await post(svc, 'assistant', { token: first }, '/oauth/revoke')
  t.same(
    [(await introspect(svc, three)).active, (await introspect(svc, two)).active],
    [false, false],
    'they end with the first',
  )
})

t.test('keeps the actors in a token that another client gets in exchange', async (t) => {
  const svc = await buildAgents(t)
  const { user, token } = await shopToken(svc, notes)
  const agent = (await act(svc, 'assistant', token)).json().access_token
  const passed = (await act(svc, 'plain', agent)).json().access_token
  t.same(decodeJwt(passed).act, { sub: 'assistant' })
  const browser = svc.browser()
  await browser.signIn(user.email, 'correct horse')
  await browser.delete('/oauth/agents/assistant')
  t.equal((await introspect(svc, passed)).active, false, 'it ends with the agent')
  t.equal((await act(svc, 'plain', agent)).json().error, 'invalid_request')
})

t.test('takes the actor from an actor token that svc issued to the client', async (t) => {
  const svc = await buildAgents(t)
  const { token } = await shopToken(svc, notes)
  const grant = { grant_type: 'client_credentials', ...notes }
  const machine = (await post(svc, 'assistant', grant)).json().access_token
  const actor = (actor_token: string, actor_token_type = accessToken) => ({ actor_token, actor_token_type })
  const byMachine = (await act(svc, 'assistant', token, actor(machine))).json()
  t.same(decodeJwt(byMachine.access_token).act, { sub: 'assistant' })
  const { id, email } = await svc.createUser()
  const own = await post(svc, 'assistant', {
    grant_type: 'password',
    username: email,
    password: 'correct horse',
    ...notes,
  })
  const byUser = (await act(svc, 'assistant', token, actor(own.json().access_token))).json()
  t.same(decodeJwt(byUser.access_token).act, { sub: String(id), client_id: 'assistant' })
  t.match(await introspect(svc, byUser.access_token), {
    active: true,
    act: { sub: String(id), client_id: 'assistant' },
  })

  const foreign = (await post(svc, 'plain', grant)).json().access_token
  const refused: [string, Record<string, string>][] = [
    ['a token of another client', actor(foreign)],
    ["the user's own token", actor(token)],
    ['a delegated token', actor(byMachine.access_token)],
    ['no token', { actor_token_type: accessToken }],
    ['another type', actor(machine, 'urn:ietf:params:oauth:token-type:jwt')],
    ['no type', { actor_token: machine }],
    ['not a token', actor('x')],
  ]
  for (const [name, fields] of refused) {
    t.equal((await act(svc, 'assistant', token, fields)).json().error, 'invalid_request', name)
  }
  t.equal((await act(svc, 'plain', token, actor(foreign))).json().error, 'invalid_request', 'a client that may not act')
  await post(svc, 'assistant', { token: machine }, '/oauth/revoke')
  t.equal((await introspect(svc, byMachine.access_token)).active, false, 'it ends with the actor token')
  t.equal((await act(svc, 'assistant', token, actor(machine))).json().error, 'invalid_request', 'a revoked actor token')
})

t.test('gives an agent no token without scopes', async (t) => {
  const svc = await buildAgents(t)
  const { token } = await shopToken(svc, { scope: 'orders:write', resource: orders })
  t.match((await act(svc, 'assistant', token)).json(), { error: 'invalid_scope' })
  t.match((await act(svc, 'narrow', token, { resource: orders })).json(), { error: 'invalid_scope' })
})

t.test('ends the tokens of an agent when an administrator disables the user who acts', async (t) => {
  const svc = await buildAgents(t)
  const { token } = await shopToken(svc, notes)
  const { id, email } = await svc.createUser()
  const own = await post(svc, 'assistant', {
    grant_type: 'password',
    username: email,
    password: 'correct horse',
    ...notes,
  })
  const fields = { actor_token: own.json().access_token, actor_token_type: accessToken }
  const { access_token } = (await act(svc, 'assistant', token, fields)).json()
  t.equal((await introspect(svc, access_token)).active, true)
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { disabledAt: new Date(svc.clock.now()) } })
  t.equal((await introspect(svc, access_token)).active, false)
})

t.test('lets the user end an agent with one click, and everything derived from it', async (t) => {
  const svc = await buildAgents(t)
  const replica = await buildTestApp(t, { settings: settings(), clock: svc.clock, database: svc.where })
  const { user, token } = await shopToken(svc, notes)
  const first = (await act(svc, 'assistant', token)).json().access_token
  const derived = (await act(svc, 'second', first)).json().access_token
  const other = (await act(svc, 'plain', token)).json().access_token
  const ada = new ScriptlessBrowser(svc)
  await ada.send('/oauth/login', credentials(user.email))
  const section = '/account/applications'
  const page = await ada.open(section)
  t.match(page.body, /Agents that act for you.*Agent assistant.*Read your notes.*Agent second/s)
  const active = async (text: string) => [
    (await introspect(svc, text)).active,
    (await introspect(replica, text)).active,
  ]
  const press = async (action: string) =>
    ada.post(`${section}/agents/assistant/${action}`, hiddenFields((await ada.open(section)).body))

  t.equal((await press('end')).statusCode, 303)
  t.same([await active(first), await active(derived)], [Array(2).fill(false), Array(2).fill(false)])
  t.same(await active(other), [true, true], 'another client')
  t.same(await active(token), [true, true], "the user's own token")
  t.equal((await svc.bearer(first, 'GET', '/api/user')).statusCode, 401)
  const again = await act(svc, 'assistant', token)
  t.match(again.json(), { error: 'invalid_grant', error_description: 'The user ended this agent.' })
  t.match((await ada.open(section)).body, /Agent assistant.*Ended on.*Allow again/s)

  travel(svc, second)
  t.equal((await press('allow')).statusCode, 303)
  t.same(await active(first), [false, false], 'its earlier tokens stay invalid')
  t.same(await active(derived), [false, false])
  const fresh = (await act(svc, 'assistant', token)).json().access_token
  t.same(await active(fresh), [true, true])
  const types = await svc.database.prisma.event.findMany({
    where: { userId: BigInt(user.id), type: { startsWith: 'agent_' } },
    orderBy: { id: 'asc' },
  })
  const counts = types.map(({ type, actor, repeats }) => [type, actor, repeats])
  t.same(counts.sort(), [
    ['agent_acted', 'client:assistant', 1],
    ['agent_acted', 'client:second', 0],
    ['agent_allowed', `user:${user.id}`, 0],
    ['agent_ended', `user:${user.id}`, 0],
  ])
})

t.test('lists and ends agents over HTTP, only those of the user', async (t) => {
  const svc = await buildAgents(t)
  const { user, token } = await shopToken(svc, notes)
  await act(svc, 'assistant', token)
  const browser = svc.browser()
  await browser.signIn(user.email, 'correct horse')
  const [listed] = (await browser.get('/oauth/agents')).json()
  t.match(listed, { client: { id: 'assistant', name: 'Agent assistant' }, scopes: ['notes:read'], ended_at: null })
  const eve = svc.browser()
  await eve.signIn((await svc.createUser()).email, 'correct horse')
  t.same((await eve.get('/oauth/agents')).json(), [])
  t.equal((await eve.delete('/oauth/agents/assistant')).statusCode, 404)
  t.equal((await eve.put('/oauth/agents/assistant')).statusCode, 404)
  for (const unknown of ['nobody', '%00', '%ED%A0%80', 'a'.repeat(255)]) {
    const answers = [await browser.delete(`/oauth/agents/${unknown}`), await browser.put(`/oauth/agents/${unknown}`)]
    t.same(
      answers.map(({ statusCode }) => statusCode),
      [404, 404],
      unknown,
    )
  }
  t.equal((await browser.delete('/oauth/agents/assistant')).statusCode, 204)
  t.equal((await browser.delete('/oauth/agents/assistant')).statusCode, 204, 'twice')
  t.match((await browser.get('/oauth/agents')).json(), [{ ended_at: /^20/ }])
  t.equal((await browser.put('/oauth/agents/assistant')).statusCode, 204)
  t.equal((await svc.app.inject('/oauth/agents')).statusCode, 401)
  t.equal((await svc.bearer(token, 'GET', '/oauth/agents')).statusCode, 401, 'not with a token')
})

t.test('counts the tokens of an agent in one event of an hour', async (t) => {
  const svc = await buildAgents(t)
  const { token, user } = await shopToken(svc, notes)
  for (let count = 0; count < 5; count++) await act(svc, 'assistant', token)
  const where = { type: 'agent_acted', userId: BigInt(user.id) }
  t.match(await svc.database.prisma.event.findMany({ where }), [{ repeats: 4 }])
  t.equal(await svc.database.prisma.oauthDelegation.count(), 1)
})
