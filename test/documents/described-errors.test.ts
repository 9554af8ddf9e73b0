// engine: none
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { request as authorizationRequest, basic, oauthSettings } from '../support/oauth.ts'

interface Operation {
  name: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  responses: Record<string, { $ref?: string; content?: object }>
  parameters: { name: string; in: string }[]
}

type Described = Pick<Operation, 'responses' | 'parameters'>

interface Document {
  paths: Record<string, Record<string, Described>>
  components: { responses: Record<string, { content?: object }> }
}

/** How to get an error from any operation that describes it. */
interface Provocation {
  status: number
  settings?: Settings
  /** Operations that answer this status for another reason. */
  except: RegExp
  prepare?(svc: TestApp, browser: Browser): unknown
  request(operation: Operation): { path?: string; body?: object; headers?: Record<string, string> }
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
/** What a proxy says about the request to another service. */
const forwarded = {
  'x-forwarded-method': 'GET',
  'x-forwarded-proto': 'http',
  'x-forwarded-host': 'localhost:8000',
  'x-forwarded-uri': '/',
}
const json = { 'content-type': 'application/json' }

const confirmPassword = (_svc: TestApp, browser: Browser) =>
  browser.post('/user/confirm-password', { password: 'correct horse' })

const provocations: Record<string, Provocation> = {
  'a malformed body': {
    status: 400,
    // The OAuth library and the providers check the query.
    except: /^GET |\/oauth\/(authorize|logout)$/,
    request: () => ({ body: Buffer.from('{"broken'), headers: json }),
  },
  'a body that is too large': {
    status: 413,
    except: /^$/,
    request: () => ({ body: Buffer.from(`{"x":"${'x'.repeat(200_000)}"}`), headers: json }),
  },
  'a body of another type': {
    status: 415,
    except: /^$/,
    request: () => ({ body: Buffer.from('x'), headers: { 'content-type': 'application/xml' } }),
  },
  'a form of another site': {
    status: 419,
    // The library asks for its own token first.
    except: /svc\/guard|oauth\/(device|logout\/confirm)$/,
    request: ({ path }) => ({
      body: Buffer.from('x=y'),
      headers: {
        ...{ ...form, 'sec-fetch-site': 'cross-site', 'x-xsrf-token': '' },
        // Routes without a session accept pages of the front end.
        ...(/^\/svc\/(?!passkeys(\/reg|$))|^\/auth\//.test(path) ? { origin: 'https://evil.example' } : {}),
      },
    }),
  },
  'too many requests': {
    status: 429,
    settings: { rate_limits: { global: '3/1h' } },
    except: /^$/,
    request: () => ({}),
  },
  'an old confirmation': {
    status: 423,
    settings: { passwords: { confirm_timeout: '1m' }, tokens: { confirm_password: true } },
    // These ask only for some changes.
    except: /svc\/guard|profile-information|other-sessions|user\/passkeys\/\{id\}/,
    prepare: ({ clock }) => clock.advance(360_000),
    request: () => ({ body: {} }),
  },
  'an unverified address, or an administrator who acts as the user': {
    status: 403,
    settings: {
      registration: { require_verified_email: true },
      admin: { roles: ['chief'], impersonation: { roles: ['chief'] } },
    },
    async prepare(svc) {
      const { id: by, email } = await svc.createUser({ email: 'chief@example.com', role: 'chief' })
      await svc.browser().signIn(email)
      const { prisma } = svc.database
      const { publicId } = await prisma.session.findFirstOrThrow({ where: { userId: BigInt(by) } })
      const impersonation = { by, until: Number.MAX_SAFE_INTEGER, session: publicId }
      const data = JSON.stringify({ impersonation })
      await prisma.session.updateMany({ where: { userId: { not: BigInt(by) } }, data: { data } })
    },
    // They answer 403 to other callers.
    except:
      /svc\/(guard|token)|api\/user$|user\/confirm(-|ation)|userinfo|interaction|auth\/\{provider\}|reset-password|account\/confirm|\{hash\}/,
    request: () => ({ body: {} }),
  },
  'an impossible id': {
    status: 404,
    // Their routes accept any text.
    except: /^[^{]*$|reset-password|social-accounts/,
    prepare: confirmPassword,
    request: ({ path }) => ({ path: path.replace(/\{\w+\}/g, 'x'.repeat(90)), body: {} }),
  },
  'a disabled feature': {
    status: 404,
    settings: {
      app: { frontend_url: 'https://app.example' },
      account: { sections: [] },
      guard: { diagnose: false },
      login: { email_code: false },
      registration: { enabled: false },
      two_factor: { enabled: false },
      passkeys: { enabled: false },
    },
    // The packages of the reference are installed in development.
    except: /\{|^GET \/docs$/,
    request: () => ({ body: {} }),
  },
  'an invalid query or body': {
    status: 422,
    // A provider or a record comes first.
    except:
      /^GET \/auth\/\{provider\}\/|(user|account)\/(passkeys|providers)\/\{id\}|^DELETE \/user\/social|v1\/groups\/\{name\}/,
    settings: { rate_limits: { mail: null } },
    prepare: confirmPassword,
    request: ({ path, parameters }) => {
      const query = parameters.filter((each) => each.in === 'query').map(({ name }) => `${name}=1&${name}=2`)
      return {
        path: query.length > 0 ? `${path}?${query.join('&')}` : path,
        body: { x: 'a\0' },
      }
    },
  },
  'a disabled method': { status: 405, except: /^$/, request: () => ({ body: Buffer.from('x=y'), headers: form }) },
  'a session instead of a token': {
    status: 409,
    except: /^(?!DELETE \/api\/tokens\/current$)/,
    request: () => ({ body: {}, headers: { accept: 'application/problem+json' } }),
  },
  'an unavailable database': {
    status: 503,
    settings: { ...oauthSettings, server: { trust_proxy: ['127.0.0.1'] }, guard: { default: 'authenticated' } },
    // These need a code or a token first.
    except: /health|oauth\/(token|userinfo)$|POST \/auth\/\{provider\}\/token/,
    prepare: ({ app, database }) => {
      const fail = () => {
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      }
      app.lookups.session = async () => fail()
      database.transaction = async () => fail()
      database.prisma = new Proxy(database.prisma, { get: fail })
    },
    request: ({ path }) => {
      if (path === '/svc/guard') return { headers: forwarded }
      if (path === '/svc/token') return { body: { email: 'ada@example.com', password: 'x', device_name: 'phone' } }
      if (path === '/svc/reset-password') {
        const password = 'a new passphrase'
        return { body: { email: 'ada@example.com', token: 'x', password, password_confirmation: password } }
      }
      if (!path.startsWith('/oauth/')) return { body: {} }
      const fields = { token: 'x'.repeat(43), ...authorizationRequest('web') }
      const client = path === '/oauth/introspect' ? 'watcher' : path === '/oauth/device/code' ? 'tv' : 'web'
      const body = new URLSearchParams({ ...fields, client_id: client })
      return { body: Buffer.from(body.toString()), headers: { ...form, ...(client === 'tv' ? {} : basic(client)) } }
    },
  },
}

const operationsOf = (document: Document): Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, parameters = [] }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as Operation['method'],
      path,
      responses,
      parameters,
    })),
  )

/** Shows every section of the account pages, and lets the user administer. */
const everything: Settings = {
  ...oauthSettings,
  admin: { roles: ['admin'] },
  login: { email_code: true },
  social: { google: { client_id: 'svc', client_secret: 'secret' } },
}

/** Account pages redirect browsers to sign in and to confirm the password. */
const redirects = ({ path }: Operation, status: number, accept: string): boolean =>
  /^\/account(\/|$)/.test(path) && [401, 423].includes(status) && accept === 'text/html'

async function signIn(t: Test, settings: Settings): Promise<{ svc: TestApp; browser: Browser; document: Document }> {
  const svc = await buildTestApp(t, { settings: { ...everything, ...settings } })
  const user = await svc.createUser({ verified: false, role: 'admin' })
  const browser = svc.browser()
  await browser.signIn(user.email)
  return { svc, browser, document: (await svc.app.inject('/openapi.json')).json() }
}

for (const [name, { status, settings = {}, except, prepare, request }] of Object.entries(provocations)) {
  t.test(`every operation that describes ${status} answers it to ${name}`, async (t) => {
    const { svc, browser, document } = await signIn(t, settings)
    const turns = new Map<string, number>()
    await prepare?.(svc, browser)
    for (const operation of operationsOf(document)) {
      const { responses, method, path } = operation
      const described = responses[status]
      if (!described || except.test(operation.name)) continue
      const { content = {} } = described.$ref
        ? (document.components.responses[described.$ref.split('/').at(-1) ?? ''] ?? {})
        : described
      const turn = turns.get(described.$ref ?? '') ?? 0
      turns.set(described.$ref ?? '', turn + 1)
      const types = Object.keys(content)
      const sent = request(operation)
      const target = (sent.path ?? path).replace(/\{\w+\}/g, '1')
      const next = types[turn % types.length] ?? '*/*'
      for (const accept of redirects(operation, status, 'text/html') ? ['application/json', 'text/html'] : [next]) {
        const answer = await browser.send(method, target, method === 'GET' ? undefined : sent.body, {
          accept,
          ...sent.headers,
        })
        const expected = redirects(operation, status, accept) ? 303 : status
        t.equal(answer.statusCode, expected, `${operation.name} (${accept})`)
      }
    }
  })
}

t.test('every account page that describes 302 redirects to links.account', async (t) => {
  const { browser, document } = await signIn(t, { links: { account: 'https://app.example/settings' } })
  for (const { name, path, responses } of operationsOf(document)) {
    if (!responses[302] || !name.startsWith('GET /account')) continue
    const { statusCode, headers } = await browser.get(path.replace(/\{\w+\}/g, '1'), { accept: 'text/html' })
    t.strictSame([statusCode, headers.location], [302, 'https://app.example/settings'], name)
  }
})

t.test('every account page redirects visitors to sign in', async (t) => {
  const { svc, document } = await signIn(t, {})
  for (const { name, path, responses } of operationsOf(document)) {
    if (!responses[303] || !/^GET \/account(\/|$)/.test(name)) continue
    const target = path.replace(/\{\w+\}/g, '1')
    const { statusCode, headers } = await svc.browser().get(target, { accept: 'text/html' })
    const login = `http://localhost:8000/oauth/login?${new URLSearchParams({ return_to: target })}`
    t.strictSame([statusCode, headers.location], [303, login], name)
  }
})
