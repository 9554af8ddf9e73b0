// engine: none
import fc from 'fast-check'
import t from 'tap'
import type { TestApp } from '../support/app.ts'
import { buildTestApp } from '../support/app.ts'
import { hour, minute } from '../support/clock.ts'
import { expectEqual, pick, runModel, step } from '../support/model-run.ts'

/** A session ends after two hours without a request. */
const idle = 2 * hour

/** A remembered device. Its secrets replace one another; the latest one and the one before it are valid. */
interface Device {
  isEnded: boolean
  /** Number of the latest secret. */
  latest: number
}

interface Session {
  lastSeen: number
  isEnded: boolean
}

/** The cookies of a browser: their values, and what the model knows about them. */
interface Jar {
  cookies: Record<string, string>
  session: Session | null
  device: Device | null
  secret: number
}

interface Model {
  svc: TestApp
  email: string
  /** The owner's two browsers, and a thief with copies of their cookies. */
  jars: Jar[]
  /** Sessions that a remembered secret began, by device and number of the secret: parallel requests share one. */
  resumed: Map<Device, Map<number, Session>>
  now: number
}

const isLive = (session: Session | null, now: number): session is Session =>
  session !== null && !session.isEnded && now - session.lastSeen < idle

/** Whether the model cannot know yet if svc counts a session as idle, because svc records uses by the minute. */
const isUnclear = ({ jars, now }: Model): boolean =>
  jars.some(({ session }) => session && Math.abs(now - session.lastSeen - idle) <= 3 * minute)

async function send({ svc }: Model, jar: Jar, method: 'GET' | 'POST', url: string, payload?: object) {
  const { 'XSRF-TOKEN': xsrf } = jar.cookies
  const answer = await svc.app.inject({
    ...{ method, url, ...(payload ? { payload } : {}) },
    headers: {
      ...{ accept: 'application/json', origin: 'http://localhost:5173' },
      cookie: Object.entries(jar.cookies)
        .map(([name, value]) => `${name}=${value}`)
        .join('; '),
      ...(xsrf ? { 'x-xsrf-token': decodeURIComponent(xsrf) } : {}),
    },
  })
  for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
    const [pair = ''] = line.split(';')
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    if (line.includes('Max-Age=0')) delete jar.cookies[name]
    else jar.cookies[name] = value
  }
  return answer
}

/** What a request of this jar gets, and what it changes. */
function visit(model: Model, jar: Jar): boolean {
  const { now, resumed } = model
  if (isLive(jar.session, now)) {
    jar.session.lastSeen = now
    return true
  }
  const { device, secret } = jar
  jar.session = null
  if (!device || device.isEnded) return false
  const sessions = resumed.get(device) ?? new Map<number, Session>()
  resumed.set(device, sessions)
  if (secret < device.latest - 1) {
    // Someone copied the secret. svc cannot tell the thief from the owner, so it ends the device.
    device.isEnded = true
    for (const session of sessions.values()) session.isEnded = true
    return false
  }
  const shared = sessions.get(secret)
  const session = isLive(shared ?? null, now) && shared ? shared : { lastSeen: now, isEnded: false }
  session.lastSeen = now
  sessions.set(secret, session)
  jar.session = session
  jar.secret = secret + 1
  device.latest = Math.max(device.latest, secret + 1)
  return true
}

async function wait(model: Model, time: number): Promise<void> {
  await model.svc.app.touches.flush()
  model.svc.clock.advance(time)
  model.now += time
}

t.test('keeps a remembered browser signed in, and ends it when a thief uses its cookies', async (t) => {
  const svc = await buildTestApp(t, { settings: { rate_limits: { mail: null, login: null } } })
  const begin = async (): Promise<Model> => {
    const { email } = await svc.createUser()
    const jar = (): Jar => ({ cookies: {}, session: null, device: null, secret: 0 })
    return { svc, email, jars: [jar(), jar(), jar()], resumed: new Map(), now: 0 }
  }
  const jarIndex = fc.nat({ max: 2 })
  await runModel<Model>(t, begin, {
    'sign in': step({
      // Rarely for a browser that is remembered, so that devices live long.
      input: fc.record({ at: fc.nat({ max: 1 }), remember: fc.boolean(), number: fc.nat({ max: 5 }) }),
      isPossible: (model: Model, { at, number }) => !isUnclear(model) && (number === 0 || !model.jars[at]?.device),
      async run(model, { at, remember }) {
        const jar = pick(model.jars, at)
        if (!jar) return
        // Reading the page may sign a remembered browser in.
        visit(model, jar)
        await send(model, jar, 'GET', '/api/user')
        await send(model, jar, 'GET', '/svc/csrf-cookie')
        const body = { email: model.email, password: 'correct horse', remember }
        expectEqual((await send(model, jar, 'POST', '/login', body)).statusCode, 200, 'a sign-in')
        if (jar.session) jar.session.isEnded = true
        if (jar.device && (jar.session || jar.secret >= jar.device.latest - 1)) {
          jar.device.isEnded = true
          for (const session of model.resumed.get(jar.device)?.values() ?? []) session.isEnded = true
        }
        jar.session = { lastSeen: model.now, isEnded: false }
        jar.device = remember ? { isEnded: false, latest: 0 } : null
        jar.secret = 0
        if (jar.device) model.resumed.set(jar.device, new Map([[-1, jar.session]]))
      },
    }),
    visit: step({
      input: jarIndex,
      isPossible: (model: Model) => !isUnclear(model),
      async run(model, at) {
        const jar = pick(model.jars, at)
        if (!jar) return
        const isAccepted = visit(model, jar)
        expectEqual((await send(model, jar, 'GET', '/api/user')).statusCode, isAccepted ? 200 : 401, 'a visit')
      },
    }),
    'copy the cookies': step({
      input: fc.nat({ max: 7 }),
      isPossible: (_: Model, number) => number < 2,
      async run({ jars: [one, two, thief] }, number) {
        const victim = number === 0 ? one : two
        if (thief && victim) Object.assign(thief, { ...victim, cookies: { ...victim.cookies } })
      },
    }),
    'sign out': step({
      input: fc.nat({ max: 11 }),
      isPossible: (model: Model, number) =>
        number < 3 && !isUnclear(model) && model.jars.some(({ session }) => isLive(session, model.now)),
      async run(model, at) {
        const jar = pick(
          model.jars.filter(({ session }) => isLive(session, model.now)),
          at,
        )
        if (!jar?.session) return
        expectEqual((await send(model, jar, 'POST', '/logout')).statusCode, 200, 'a sign-out')
        jar.session.isEnded = true
        // The session began this device or came from it, so the device ends too.
        for (const [device, sessions] of model.resumed) {
          if (![...sessions.values()].includes(jar.session)) continue
          device.isEnded = true
          for (const session of sessions.values()) session.isEnded = true
        }
        Object.assign(jar, { session: null, device: null, secret: 0 })
      },
    }),
    'use a browser for a day': step({
      input: jarIndex,
      isPossible: (model: Model) => !isUnclear(model),
      async run(model, at) {
        const jar = pick(model.jars, at)
        if (!jar) return
        for (let visits = 0; visits < 3; visits++) {
          await wait(model, 3 * hour)
          const isAccepted = visit(model, jar)
          expectEqual((await send(model, jar, 'GET', '/api/user')).statusCode, isAccepted ? 200 : 401, 'a visit')
        }
      },
    }),
    wait: step({
      input: fc.constantFrom(minute, 20 * minute, 3 * hour),
      run: wait,
    }),
  })
})
