// engine: none

import fc from 'fast-check'
import { decodeJwt } from 'jose'
import t from 'tap'
import { adminCall, adminSettings, robotToken } from '../support/admin.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { expectEqual, expectStatus, pick, runModel, step } from '../support/model-run.ts'
import { introspect, partner, token } from '../support/oauth.ts'
import { stopTime } from '../support/time.ts'

/** An API token with its abilities. */
interface ApiToken {
  text: string
  abilities: string[]
  isRevoked: boolean
}

interface Model {
  svc: TestApp
  call: ReturnType<typeof adminCall>
  user: { id: number; email: string }
  /** The groups that exist in the database, by name. */
  groups: Map<string, { isMember: boolean }>
  prefix: string
  tokens: ApiToken[]
  jwts: { text: string; groups: string[]; isRevoked: boolean }[]
  isDisabled: boolean
}

const names = ['editors', 'on-call', 'readers']
const abilities = ['orders', 'stock', 'users', '*']
const some = fc.uniqueArray(fc.constantFrom(...abilities), { maxLength: 3 })

const groupsOf = ({ groups }: Model): string[] =>
  [...groups].flatMap(([name, { isMember }]) => (isMember ? [name] : [])).toSorted()

/** Whether a token with these abilities may create one with the others. */
const covers = (own: readonly string[], asked: readonly string[]): boolean =>
  own.includes('*') || asked.every((ability) => own.includes(ability))

async function checkAll(model: Model): Promise<void> {
  const { svc, tokens, jwts, isDisabled, user } = model
  for (const { text, isRevoked } of tokens.slice(-4)) {
    const answer = await svc.bearer(text, 'GET', '/api/user')
    expectStatus(answer, isRevoked || isDisabled ? 401 : 200, 'an API token')
    if (answer.statusCode === 200) expectEqual(answer.json().groups, groupsOf(model), 'the groups of the user')
  }
  for (const { text, groups, isRevoked } of jwts.slice(-3)) {
    expectEqual(decodeJwt(text).groups, groups, 'the groups in a token, which never change')
    const answer = await introspect(svc, 'watcher', text)
    expectEqual(answer.active, !isRevoked && !isDisabled, 'an access token is active')
  }
  const shown = (await model.call('GET', `/users/${user.id}`)).json()
  expectEqual(shown.groups, groupsOf(model), 'the groups in the admin API')
}

t.test('keeps groups, and the tokens that carry or create them, as the model says', async (t) => {
  const clock = stopTime(t)
  const settings = {
    ...adminSettings,
    clients: [...adminSettings.clients, partner('shop')],
    rate_limits: { admin: null, token: null, login: null, login_address: null, mail: null },
  }
  const svc = await buildTestApp(t, { settings, clock })
  const call = adminCall(svc, await robotToken(svc))
  let runs = 0
  const begin = async (): Promise<Model> => {
    const user = await svc.createUser()
    const first = { text: await svc.createToken(user), abilities: ['*'], isRevoked: false }
    const prefix = `run${++runs}-`
    return { svc, call, user, groups: new Map(), prefix, tokens: [first], jwts: [], isDisabled: false }
  }
  const name = fc.constantFrom(...names)
  const membership = (method: 'PUT' | 'DELETE') =>
    step({
      input: name,
      async run(model: Model, short) {
        const group = model.groups.get(model.prefix + short)
        const isFound = method === 'PUT' ? group !== undefined : group?.isMember === true
        const answer = await call(method, `/groups/${model.prefix}${short}/members/${model.user.id}`)
        expectStatus(answer, isFound ? 204 : 404, `${method} of a member`)
        if (group) group.isMember = method === 'PUT'
        await checkAll(model)
      },
    })
  await runModel<Model>(t, begin, {
    'create a group': step({
      input: name,
      async run(model, short) {
        const full = model.prefix + short
        const isNew = !model.groups.has(full)
        expectStatus(await call('POST', '/groups', { name: full }), isNew ? 201 : 422, 'a new group')
        if (isNew) model.groups.set(full, { isMember: false })
      },
    }),
    'delete a group': step({
      input: fc.tuple(name, fc.nat({ max: 3 })),
      isPossible: (_: Model, [, number]) => number === 0,
      async run(model, [short]) {
        const full = model.prefix + short
        expectStatus(await call('DELETE', `/groups/${full}`), model.groups.delete(full) ? 204 : 404, 'a deletion')
        await checkAll(model)
      },
    }),
    'add the user': membership('PUT'),
    'remove the user': membership('DELETE'),
    'create an API token': step({
      input: fc.record({ at: fc.nat({ max: 20 }), asked: fc.option(some) }),
      async run(model, { at, asked }) {
        const parent = pick(model.tokens, at)
        if (!parent) return
        const body = { token_name: 'child', ...(asked ? { abilities: asked } : {}) }
        const answer = await svc.bearer(parent.text, 'POST', '/api/tokens/create', body)
        const isDead = parent.isRevoked || model.isDisabled
        const isCovered = asked === null || covers(parent.abilities, asked)
        expectStatus(answer, isDead ? 401 : isCovered ? 200 : 403, `from ${parent.abilities} for ${asked}`)
        if (answer.statusCode !== 200) return
        const text = answer.json().token
        model.tokens.push({ text, abilities: asked ?? parent.abilities, isRevoked: false })
        await checkAll(model)
      },
    }),
    'revoke an API token': step({
      input: fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 3 })),
      isPossible: (_: Model, [, number]) => number === 0,
      async run(model, [at]) {
        const revoked = pick(model.tokens, at)
        if (!revoked) return
        const isDead = revoked.isRevoked || model.isDisabled
        expectStatus(
          await svc.bearer(revoked.text, 'DELETE', '/api/tokens/current'),
          isDead ? 401 : 200,
          'a revocation',
        )
        if (!isDead) revoked.isRevoked = true
        await checkAll(model)
      },
    }),
    'get an access token': step({
      input: fc.constant(null),
      async run(model) {
        const fields = { grant_type: 'password', username: model.user.email, password: 'correct horse' }
        const answer = await token(svc, 'shop', { ...fields, scope: 'orders:read groups' })
        expectStatus(answer, model.isDisabled ? 400 : 200, 'the password grant')
        if (answer.statusCode === 200)
          model.jwts.push({ text: answer.json().access_token, groups: groupsOf(model), isRevoked: false })
        await checkAll(model)
      },
    }),
    'disable or enable the user': step({
      input: fc.nat({ max: 3 }),
      isPossible: ({ isDisabled }: Model, number) => isDisabled || number === 0,
      async run(model) {
        const disabled = !model.isDisabled
        expectStatus(await call('PATCH', `/users/${model.user.id}`, { disabled }), 200, 'a change of the user')
        model.isDisabled = !model.isDisabled
        // Disabling ends what exists for good.
        if (model.isDisabled) for (const each of [...model.tokens, ...model.jwts]) each.isRevoked = true
        else model.tokens.push({ text: await svc.createToken(model.user as never), abilities: ['*'], isRevoked: false })
        await checkAll(model)
      },
    }),
  })
})
