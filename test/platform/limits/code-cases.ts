import { publicAddress, type TestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { type Case, fill, growing, guest, once, twice } from './reach.ts'

const askCode = async (svc: TestApp, email: string) => (await guest(svc)).post('/login/email-code', { email })

/** Routes that mail sign-in codes or accept invitations. */
export const codeRoutes: Record<string, Case> = {
  'POST /oauth/invitation/:token': {
    rates: { register: once },
    reach: async (svc) => {
      await runCommandOn(svc, 'user:invite', '--email=ada@example.com')
      const link = await svc.mailbox.find('ada@example.com', /http:\/\/localhost:8000(\S+)/)
      const visitor = new ScriptlessBrowser(svc)
      return twice(() => visitor.send(link, { name: '' }))
    },
  },
  'POST /oauth/invitation/:token/providers/:id': {
    rates: { register: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      const { body } = await visitor.open('/oauth/login')
      const [, _token = ''] = /name="_token" value="([^"]+)"/.exec(body) ?? []
      return twice(() => visitor.post('/oauth/invitation/x/providers/google', { _token }))
    },
  },
  ...Object.fromEntries(
    ['/passkeys/invitation/options', '/passkeys/invitation'].map((url) => [
      `POST ${url}`,
      {
        rates: { register: once },
        reach: async (svc: TestApp) => {
          const browser = await guest(svc)
          return twice(() => browser.post(url, {}))
        },
      },
    ]),
  ),
  'POST /login/email-code': { rates: { mail: once }, reach: (svc) => twice(() => askCode(svc, '')) },
  'POST /oauth/email-code': {
    rates: { mail: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      return twice(() => visitor.send('/oauth/email-code', { email: 'ada@example.com' }))
    },
  },
}

/** Limits of sign-in codes that no route declares. */
export const codeLimits: Record<string, Case> = {
  'sign-in codes for one address': {
    rates: {},
    reach: async (svc) => {
      await fill(svc, 'login-codes-to:guest:ada@example.com', growing(5, hour))
      return askCode(svc, 'Ada@example.com')
    },
    max: 5,
  },
  'sign-in codes of one source': {
    rates: { mail: '2/1s' },
    reach: async (svc) => {
      await fill(svc, `login-codes-from:${publicAddress}`, growing(20, hour))
      return askCode(svc, 'ada@example.com')
    },
    max: 20,
  },
  'wrong sign-in codes': {
    rates: { login: once },
    reach: async (svc) => {
      const browser = await guest(svc)
      await browser.post('/login/email-code', { email: 'ada@example.com' })
      return twice(() => browser.post('/login/email-code/verify', { code: 'wrong' }))
    },
  },
}
