// engine: none
import fc from 'fast-check'
import t from 'tap'
import { buildTestApp } from '../support/app.ts'
import { second } from '../support/clock.ts'
import { expectEqual, expectStatus, pick, runModel, step, stepOn } from '../support/model-run.ts'
import { introspect, oauthSettings, Person, redeem, request, response, token } from '../support/oauth.ts'
import { stopTime, travel } from '../support/time.ts'

const index = fc.nat({ max: 30 })

t.test('redeems codes as RFC 6749 and RFC 7636 demand, in any order of uses, mistakes and waits', async (t) => {
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, rate_limits: { token: null } }, clock })
  const lifetime = 60 * second

  interface Code {
    value: string
    client: string
    isUsed: boolean
    until: number
    access: string | null
    isRevoked: boolean
  }
  interface CodeModel {
    person: Person
    codes: Code[]
    now: number
  }
  const mistakes = {
    'another verifier': { code_verifier: 'another-code-verifier-of-the-tests-0123456789' },
    'another redirect URI': { redirect_uri: 'http://localhost:9999/other' },
    'no verifier': { code_verifier: '' },
  }
  const checkCodes = async ({ codes, now }: CodeModel) => {
    for (const { access, isRevoked } of codes) {
      if (access !== null && now < lifetime * 5)
        expectEqual((await introspect(svc, 'watcher', access)).active, !isRevoked, 'its access token is active')
    }
  }
  const start = async (): Promise<CodeModel> => {
    const person = new Person(svc, (await svc.createUser()).email)
    await person.signIn()
    return { person, codes: [], now: 0 }
  }
  const codesOf = ({ codes }: CodeModel) => codes
  await runModel<CodeModel>(t, start, {
    authorize: step({
      input: fc.constantFrom('web', 'own'),
      isPossible: ({ codes }: CodeModel) => codes.length < 6,
      async run(model, client) {
        const { code, state } = response(await model.person.allow(request(client, { scope: 'orders:read' })))
        expectEqual(state, 'the-state', 'state')
        const value = code ?? ''
        expectEqual(
          model.codes.some((known) => known.value === value),
          false,
          'the code is new',
        )
        model.codes.push({ value, client, isUsed: false, until: model.now + lifetime, access: null, isRevoked: false })
      },
    }),
    redeem: stepOn(codesOf, async (model, code) => {
      const answer = await redeem(svc, code.client, code.value)
      if (!code.isUsed && model.now < code.until) {
        expectStatus(answer, 200, 'a fresh code')
        code.access = answer.json().access_token
      } else {
        expectStatus(answer, 400, 'a used or expired code')
        // A code that was used before may have been stolen, so its tokens end too.
        if (code.isUsed && model.now < code.until) code.isRevoked = true
      }
      code.isUsed = true
      await checkCodes(model)
    }),
    'redeem with a mistake': step({
      input: fc.record({ at: index, mistake: fc.constantFrom(...Object.values(mistakes)) }),
      isPossible: ({ codes }: CodeModel) => codes.some(({ isUsed }) => !isUsed),
      async run(model, { at, mistake }) {
        const code = pick(
          model.codes.filter(({ isUsed }) => !isUsed),
          at,
        )
        if (!code) return
        expectStatus(await redeem(svc, code.client, code.value, mistake), 400, 'a request with a mistake')
        await checkCodes(model)
      },
    }),
    'redeem as another client': stepOn(codesOf, async (model, { client, value }) => {
      expectStatus(await redeem(svc, client === 'web' ? 'own' : 'web', value), 400, 'the code of another client')
      await checkCodes(model)
    }),
    'use a code as a refresh token': stepOn(codesOf, async (_, { client, value }) => {
      const fields = { grant_type: 'refresh_token', refresh_token: value }
      expectStatus(await token(svc, client, fields), 400, 'a code in place of a refresh token')
    }),
    wait: step({
      input: fc.constantFrom(5 * second, 30 * second, 61 * second),
      async run(model, time) {
        travel(svc, time)
        model.now += time
      },
    }),
  })
})
