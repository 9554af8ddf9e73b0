// engine: none
// lane: all
import t, { type Test } from 'tap'
import { ada, startWithAda } from '../support/listening.ts'
import { callback, Person, pkce, response, secret, verifier } from '../support/oauth.ts'
import { OidcProvider } from '../support/oidc-provider.ts'
import type { Running } from '../support/process.ts'
import { configLines, machineToken, replaceFile, robot, settingsOf } from '../support/reloading.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

const reloads = 50
/** The minimum number of requests that end between two reloads. */
const between = 12

const web = {
  client_id: 'web',
  type: 'confidential',
  secret,
  redirect_uris: [callback],
  grants: ['authorization_code', 'refresh_token'],
}

/** Posts a form as the client of the code flow. */
const asWeb = ({ url }: Running, fields: Record<string, string>) =>
  sendRequest(url, {
    method: 'POST',
    url: '/oauth/token',
    headers: {
      authorization: `Basic ${Buffer.from(`web:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: new URLSearchParams(fields).toString(),
  })

/** A whole code flow of a signed-in user; returns the status of each step. */
async function codeFlow(svc: Running, person: Person): Promise<number[]> {
  const asked = { client_id: 'web', response_type: 'code', redirect_uri: callback, scope: 'openid', ...pkce }
  const { code = '' } = response(await person.allow(asked))
  const grant = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: verifier }
  const redeemed = await asWeb(svc, { ...grant, code })
  const { access_token, refresh_token } = redeemed.json()
  const [whose, refreshed] = await Promise.all([
    requestWithBearer(svc.url, access_token, '/oauth/userinfo'),
    asWeb(svc, { grant_type: 'refresh_token', refresh_token }),
  ])
  return [redeemed, whose, refreshed].map(({ statusCode }) => statusCode)
}

async function start(t: Test) {
  const acme = await OidcProvider.start(t, [], ['http://localhost:8000/auth/acme/callback'])
  const common = {
    clients: [web, robot('robot')],
    social: { acme: { ...acme.settings } },
    rate_limits: { login: null },
  }
  const svc = await startWithAda(t, { LOG_LEVEL: 'info' }, common)
  const phone = await sendRequest(svc.url, {
    method: 'POST',
    url: '/svc/token',
    payload: { ...ada, device_name: 'Phone' },
  })
  const browser = remoteBrowser(svc.url, { url: svc.url })
  await browser.signIn(ada.email, ada.password)
  const people = await Promise.all(
    [1, 2].map(async () => {
      const options = { url: svc.url, origin: svc.url, xsrf: false }
      const person = new Person(remoteBrowser(svc.url, options), ada.email, svc.url)
      await person.signIn()
      return person
    }),
  )
  // Discovered once: what a reload does not change is not requested again.
  await sendRequest(svc.url, { url: '/auth/acme/redirect' })
  acme.isUp = false
  return { svc, token: phone.json().token, browser, people }
}

t.test('fails no request during fifty reloads under load', async (t) => {
  const { svc, token, browser, people } = await start(t)
  const status = async (answer: Promise<{ statusCode: number }>) => [(await answer).statusCode]
  const work: Record<string, () => Promise<number[]>> = {
    session: () => status(browser.get('/api/user')),
    bearer: () => status(requestWithBearer(svc.url, token, '/api/user')),
    machine: () => status(machineToken(svc, 'robot')),
    social: () => status(sendRequest(svc.url, { url: '/auth/acme/redirect' })),
    page: () => status(sendRequest(svc.url, { url: '/oauth/login', headers: { accept: 'text/html' } })),
    ...Object.fromEntries(people.map((person, index) => [`code ${index}`, () => codeFlow(svc, person)])),
  }
  const counts: Record<string, Record<string, number>> = {}
  let [isOver, ended] = [false, 0]
  const keepAsking = async (name: string, once: () => Promise<number[]>) => {
    counts[name] ??= {}
    while (!isOver) {
      for (const code of await once().catch((error: unknown) => [String(error)])) {
        counts[name][code] = (counts[name][code] ?? 0) + 1
        ended++
      }
    }
  }
  // Stateless requests run twice at a time.
  const workers = Object.entries(work).flatMap(([name, once]) =>
    name.startsWith('code') ? [keepAsking(name, once)] : [keepAsking(name, once), keepAsking(name, once)],
  )
  const settings = settingsOf(svc)
  let done = 0
  svc.child.stdout?.on('data', (text: string) => {
    done += text.split('"msg":"configuration reloaded"').length - 1
  })
  for (let n = 1; n <= reloads; n++) {
    const changed = { app: { url: svc.url, name: `Name ${n}` }, clients: [web, robot('robot'), robot(`robot${n}`)] }
    replaceFile(svc, {
      ...settings,
      ...changed,
      theme: { texts: { 'login.submit': `In ${n}` } },
      expiration: `${100 + n}m`,
    })
    svc.child.kill('SIGHUP')
    const enough = ended + between
    await until(() => done >= n && ended >= enough)
  }
  isOver = true
  await Promise.all(workers)
  t.equal(done, reloads)
  t.comment(JSON.stringify(counts))
  for (const [name, counted] of Object.entries(counts)) t.same(Object.keys(counted), ['200'], name)
  t.equal((await machineToken(svc, `robot${reloads}`)).statusCode, 200, 'the last one is active')
  t.equal((await machineToken(svc, `robot${reloads - 1}`)).statusCode, 401)
  t.match((await sendRequest(svc.url, { url: '/oauth/login', headers: { accept: 'text/html' } })).body, `In ${reloads}`)
  t.same([...new Set(configLines(svc).map(({ level }) => level))], ['info'])
  t.equal((await svc.stop()).code, 0)
})
