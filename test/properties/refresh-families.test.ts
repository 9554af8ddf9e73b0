// engine: none
import fc from 'fast-check'
import t from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { minute, second } from '../support/clock.ts'
import { expectEqual, expectStatus, runModel, step, stepOn } from '../support/model-run.ts'
import { codeFlow, introspect, oauthSettings, Person, refresh, revoke } from '../support/oauth.ts'
import { stopTime, travel } from '../support/time.ts'

/** How long svc accepts a used refresh token again, and how long an access token lives. */
const grace = 10 * second
const accessLifetime = 15 * minute

/** A refresh token: which one replaced it, and when. */
interface Refresh {
  value: string
  family: Family
  usedAt: number | null
  next: Refresh | null
}

/** The tokens of one grant (RFC 9700 section 4.14.2): a reuse ends all of them. */
interface Family {
  isEnded: boolean
  isOffline: boolean
  access: { value: string; until: number; isRevoked: boolean }[]
}

interface Model {
  svc: TestApp
  person: Person
  families: Family[]
  tokens: Refresh[]
  now: number
}

const tokensOf = ({ tokens }: Model) => tokens

function keep(
  model: Model,
  family: Family,
  answer: { access_token: string; refresh_token: string; expires_in: number },
) {
  family.access.push({ value: answer.access_token, until: model.now + answer.expires_in * second, isRevoked: false })
  expectEqual(answer.expires_in * second, accessLifetime, 'lifetime')
  const known = model.tokens.find(({ value }) => value === answer.refresh_token)
  const found = known ?? { value: answer.refresh_token, family, usedAt: null, next: null }
  if (!known) model.tokens.push(found)
  return found
}

async function checkAccess({ svc, families, now }: Model): Promise<void> {
  for (const family of families) {
    for (const { value, until, isRevoked } of family.access.slice(-3)) {
      const expected = !family.isEnded && !isRevoked && now < until
      expectEqual((await introspect(svc, 'watcher', value)).active, expected, 'an access token is active')
    }
  }
}

const begin = async (svc: TestApp): Promise<Model> => {
  const person = new Person(svc, (await svc.createUser()).email)
  await person.signIn()
  return { svc, person, families: [], tokens: [], now: 0 }
}

t.test('rotates refresh tokens as RFC 9700 demands, in any order of uses, reuses, waits and revocations', async (t) => {
  const clock = stopTime(t)
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, oauth: { access_token_ttl: '15m' }, rate_limits: { token: null } },
    clock,
  })
  await runModel<Model>(t, () => begin(svc), {
    authorize: step({
      input: fc.boolean(),
      isPossible: ({ families }: Model) => families.length < 3,
      async run(model, isOffline) {
        const scope = isOffline ? 'orders:read offline_access' : 'orders:read'
        const more: Record<string, string> = isOffline ? { scope, prompt: 'consent' } : { scope }
        const tokens = await codeFlow(model.svc, model.person, 'web', more)
        const family = { isEnded: false, isOffline, access: [] }
        model.families.push(family)
        keep(model, family, tokens)
      },
    }),
    refresh: stepOn(tokensOf, async (model, used) => {
      const { family, usedAt } = used
      const answer = await refresh(model.svc, 'web', used.value)
      const isReused = usedAt !== null && model.now - usedAt >= grace
      if (family.isEnded || isReused) {
        expectStatus(answer, 400, 'a used or ended refresh token')
        expectEqual(answer.json().error, 'invalid_grant', 'error')
        family.isEnded = true
      } else {
        expectStatus(answer, 200, 'a live refresh token')
        const next = keep(model, family, answer.json())
        if (used.next) expectEqual(next.value, used.next.value, 'the successor of a repeated refresh')
        used.next = next
        used.usedAt ??= model.now
      }
      await checkAccess(model)
    }),
    'refresh as another client': stepOn(tokensOf, async (model, { value }) => {
      expectStatus(await refresh(model.svc, 'own', value), 400, 'the token of another client')
      await checkAccess(model)
    }),
    'refresh with more scopes': stepOn(tokensOf, async (model, { value }) => {
      const answer = await refresh(model.svc, 'web', value, { scope: 'orders:read orders:write' })
      expectStatus(answer, 400, 'a scope that was not granted')
      await checkAccess(model)
    }),
    'revoke a refresh token': stepOn(tokensOf, async (model, { value, family }) => {
      expectStatus(await revoke(model.svc, 'web', value), 200, 'a revocation')
      family.isEnded = true
      await checkAccess(model)
    }),
    'revoke an access token': stepOn(
      ({ families }: Model) => families.flatMap(({ access }) => access.slice(-1)),
      async (model, access) => {
        expectStatus(await revoke(model.svc, 'web', access.value), 200, 'a revocation')
        access.isRevoked = true
        await checkAccess(model)
      },
    ),
    wait: step({
      input: fc.constantFrom(second, 4 * second, 9 * second, 11 * second, 5 * minute),
      async run(model, time) {
        travel(model.svc, time)
        model.now += time
        await checkAccess(model)
      },
    }),
    'sign out': step({
      input: fc.constant(null),
      isPossible: ({ families }: Model) => families.length > 0,
      async run(model) {
        const signOut = model.person.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
        expectStatus(await signOut, 200, 'a sign-out')
        for (const family of model.families) family.isEnded ||= !family.isOffline
        await model.person.signIn()
        await checkAccess(model)
      },
    }),
  })
})
