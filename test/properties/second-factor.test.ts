// engine: none
import fc from 'fast-check'
import t from 'tap'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { minute, second } from '../support/clock.ts'
import { expectEqual, expectStatus, pick, runModel, step } from '../support/model-run.ts'
import { codeAt, confirmedBrowser, wrongCode } from '../support/totp.ts'

const factor = '/user/two-factor-authentication'
const confirming = '/user/confirmed-two-factor-authentication'
const recovery = '/user/two-factor-recovery-codes'

interface Model {
  svc: TestApp
  email: string
  owner: Browser
  /** `pending`: enabled, and not yet confirmed by a code. */
  state: 'none' | 'pending' | 'confirmed'
  secret: string
  /** The latest time step whose code was used: a code works once (RFC 6238 section 5.2). */
  usedStep: number
  unused: string[]
  used: string[]
}

const stepOf = (model: Model): number => Math.floor(model.svc.clock.now() / 30_000)

async function readSecrets(model: Model): Promise<void> {
  model.secret = (await model.owner.get('/user/two-factor-secret-key')).json().secretKey
  model.unused = (await model.owner.get(recovery)).json()
  model.used = []
  model.usedStep = 0
}

/** Signs in with the password. That alone is enough only without a second factor. */
async function passwordOnly({ svc, email, state }: Model): Promise<Browser> {
  const browser = svc.browser()
  const answer = await browser.signIn(email)
  expectStatus(answer, 200, 'a sign-in')
  expectEqual(answer.json().two_factor, state === 'confirmed', 'the sign-in asks for a code')
  const isSignedIn = (await browser.get('/api/user')).statusCode === 200
  expectEqual(isSignedIn, state !== 'confirmed', 'the password alone signs in')
  return browser
}

/** Checks what the account says about its second factor. */
async function checkUser(model: Model): Promise<void> {
  const user = (await model.owner.get('/api/user')).json()
  expectEqual(user.two_factor_enabled, model.state === 'confirmed', 'two_factor_enabled')
}

t.test('asks for the second factor from its confirmation to its removal, and accepts each code once', async (t) => {
  const rate_limits = { mail: null, login: null, two_factor: null }
  const svc = await buildTestApp(t, { settings: { rate_limits } })
  const begin = async (): Promise<Model> => {
    const { email } = await svc.createUser()
    const owner = await confirmedBrowser(svc, email)
    return { svc, email, owner, state: 'none', secret: '', usedStep: 0, unused: [], used: [] }
  }
  await runModel<Model>(t, begin, {
    enable: step({
      input: fc.nat({ max: 5 }),
      isPossible: ({ state }: Model, number) => state === 'none' || (state === 'pending' && number === 0),
      async run(model) {
        expectStatus(await model.owner.post(factor), 200, 'enabling')
        model.state = 'pending'
        await readSecrets(model)
        await checkUser(model)
      },
    }),
    'confirm with a code': step({
      input: fc.integer({ min: -3, max: 3 }),
      isPossible: ({ state }: Model) => state !== 'confirmed',
      async run(model, away) {
        const code = model.secret ? codeAt(model.secret, svc.clock.now(), away) : '123456'
        const isRight = model.state === 'pending' && Math.abs(away) <= 1
        expectStatus(await model.owner.post(confirming, { code }), isRight ? 200 : 422, `step ${away}`)
        if (isRight) {
          model.state = 'confirmed'
          model.usedStep = stepOf(model) + away
        }
        await checkUser(model)
      },
    }),
    'confirm with a wrong code': step({
      input: fc.constant(null),
      isPossible: ({ state }: Model) => state === 'pending',
      async run(model) {
        const code = wrongCode(model.secret, svc.clock.now())
        expectStatus(await model.owner.post(confirming, { code }), 422, 'a wrong code')
        await checkUser(model)
      },
    }),
    'sign in with the password': step({
      input: fc.constant(null),
      async run(model) {
        await passwordOnly(model)
      },
    }),
    'sign in with a code': step({
      input: fc.integer({ min: -2, max: 2 }),
      isPossible: ({ state }: Model) => state === 'confirmed',
      async run(model, away) {
        const waiting = await passwordOnly(model)
        const at = stepOf(model) + away
        const isRight = Math.abs(away) <= 1 && at > model.usedStep
        const code = codeAt(model.secret, svc.clock.now(), away)
        const answer = await waiting.post('/two-factor-challenge', { code })
        expectStatus(answer, isRight ? 204 : 422, `step ${away}, last used ${model.usedStep - stepOf(model)}`)
        expectStatus(await waiting.get('/api/user'), isRight ? 200 : 401, 'the browser')
        if (isRight) model.usedStep = at
      },
    }),
    'sign in with a recovery code': step({
      input: fc.record({ at: fc.nat({ max: 7 }), again: fc.boolean() }),
      isPossible: ({ state, used }: Model, { again }) => state === 'confirmed' && (!again || used.length > 0),
      async run(model, { at, again }) {
        const code = pick(again ? model.used : model.unused, at)
        if (code === undefined) return
        const waiting = await passwordOnly(model)
        const answer = await waiting.post('/two-factor-challenge', { recovery_code: code })
        expectStatus(answer, again ? 422 : 204, 'a recovery code')
        expectStatus(await waiting.get('/api/user'), again ? 401 : 200, 'the browser')
        if (again) return
        model.unused = model.unused.filter((other) => other !== code)
        model.used.push(code)
      },
    }),
    'replace the recovery codes': step({
      input: fc.constant(null),
      isPossible: ({ state }: Model) => state === 'confirmed',
      async run(model) {
        expectStatus(await model.owner.post(recovery), 200, 'new codes')
        model.used = [...model.used, ...model.unused]
        model.unused = (await model.owner.get(recovery)).json()
        expectEqual(model.unused.length, 8, 'number of codes')
      },
    }),
    disable: step({
      // Rarely, because most other steps need the second factor.
      input: fc.nat({ max: 5 }),
      isPossible: ({ state }: Model, number) => state !== 'none' && number === 0,
      async run(model) {
        expectStatus(await model.owner.delete(factor), 200, 'disabling')
        Object.assign(model, { state: 'none', secret: '', unused: [], used: [] })
        await checkUser(model)
      },
    }),
    wait: step({
      input: fc.constantFrom(30 * second, minute, 2 * minute),
      async run(model, time) {
        svc.clock.advance(time)
        // The owner confirms the password again, which the changes require.
        await model.owner.post('/user/confirm-password', { password: 'correct horse' })
      },
    }),
  })
})
