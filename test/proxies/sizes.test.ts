// engine: none
import { createHash } from 'node:crypto'
import { signedIn } from '../features/forward-auth/sessions.ts'
import { navigation } from '../features/forward-auth/setup.ts'
import { eachProxy } from './world.ts'

const browser = Object.entries(navigation).map(([name, value]) => `${name}: ${value}`)
const challenge = createHash('sha256').update('x'.repeat(43)).digest('base64url')

/** Collects the cookies of responses, as a browser does. */
class Jar {
  readonly #cookies = new Map<string, string>()

  keep(lines: string | undefined): void {
    for (const line of lines?.split('\n') ?? []) {
      const [pair = ''] = line.split(';')
      const [name = ''] = pair.split('=')
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, pair)
    }
  }

  get header(): string[] {
    return this.#cookies.size === 0 ? [] : [`Cookie: ${[...this.#cookies.values()].join('; ')}`]
  }
}

const authorization = (state: string): string =>
  `/oauth/authorize?${new URLSearchParams({
    client_id: 'spa',
    response_type: 'code',
    redirect_uri: 'https://app.example.com/cb',
    scope: 'openid',
    state,
    nonce: 'n'.repeat(200),
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })}`

eachProxy('passes an authorization with a long state, after several that were abandoned', async (t, world, port) => {
  const user = await world.svc.createUser()
  const jar = new Jar()
  const visit = async (target: string, form?: URLSearchParams) => {
    const method = form ? 'POST' : 'GET'
    const own = ['Content-Type: application/x-www-form-urlencoded', 'Sec-Fetch-Site: same-origin']
    const headers = [...browser.filter((line) => !/site/.test(line)), ...jar.header, ...(form ? own : [])]
    const answer = await world.send(port, {
      method,
      host: 'auth.example.com',
      target,
      headers,
      body: String(form ?? ''),
    })
    jar.keep(answer.headers['set-cookie'])
    return answer
  }
  // A state without repetition, which compression cannot shorten.
  const stateOf = (number: number): string =>
    Array.from({ length: 45 }, (_, part) => createHash('sha256').update(`${number}-${part}`).digest('base64url'))
      .join('')
      .slice(0, 1_900)
  for (let number = 0; number < 12; number++) {
    const begun = await visit(authorization(stateOf(number)))
    t.equal(begun.status, 303, `${number}: ${begun.status}`)
    const { pathname } = new URL(begun.headers.location ?? '', 'https://auth.example.com')
    const redirected = await visit(pathname)
    t.equal(redirected.status, 302, `${number}: ${redirected.status}`)
    if (number < 11) continue
    const page = new URL(redirected.headers.location ?? '', 'https://auth.example.com')
    t.equal((await visit(page.pathname + page.search)).status, 200)
    const form = new URLSearchParams({ email: user.email, password: 'correct horse', return_to: pathname })
    let answer = await visit('/oauth/login', form)
    for (let steps = 0; steps < 8; steps++) {
      const [, next] = /^0; url=(.*)$/.exec(answer.headers.refresh ?? '') ?? []
      const target = new URL(next ?? answer.headers.location ?? '', 'https://auth.example.com')
      if (target.host !== 'auth.example.com') break
      answer = await visit(target.pathname + target.search)
      if (answer.status !== 200) continue
      const fields = new URLSearchParams({ decision: 'approve' })
      answer = await visit(target.pathname, fields)
    }
    const arrived = new URL(/url=(.*)$/.exec(answer.headers.refresh ?? '')?.[1] ?? answer.headers.location ?? '')
    t.equal(arrived.searchParams.get('state'), stateOf(number), arrived.href)
    t.ok(arrived.searchParams.get('code'))
  }
})

eachProxy('guards requests with long addresses and many cookies', async (t, { send, svc }, port) => {
  const user = await svc.createUser()
  const cookies = await signedIn(svc, user.email)
  for (const [length, other] of [
    [4_000, 0],
    [4_000, 10_000],
    [7_000, 4_000],
  ] as const) {
    const target = `/orders/1?q=${'a'.repeat(length)}`
    const headers = [`Cookie: ${cookies}; other=${'b'.repeat(other)}`, ...browser]
    const { status, received } = await send(port, { target, headers })
    t.equal(status, 200, `an address of ${length} and cookies of ${other} characters: ${status}`)
    t.equal(received?.headers['remote-user'], String(user.id))
  }
})

eachProxy('sends a service all identity headers at their maximum', async (t, { send, svc }, port) => {
  const { id } = await svc.createUser()
  const groups = Array.from({ length: 20 }, (_, index) => `${'g'.repeat(40)}-${index}`)
  // Each of these characters has twelve in the header.
  const data = { name: '😀'.repeat(127), groups: JSON.stringify(groups) }
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data })
  const abilities = ['orders:read', ...Array.from({ length: 60 }, (_, index) => `${'x'.repeat(120)}:${index}`)]
  const token = await svc.createToken({ ...(await svc.createUser()), id }, { abilities })
  const headers = [`Authorization: Bearer ${token}`, `Cookie: other=${'b'.repeat(4_000)}`]
  const { status, received } = await send(port, { target: '/reports', headers })
  t.equal(status, 200)
  t.match(received?.headers, {
    'remote-user': String(id),
    'remote-name': encodeURIComponent('😀'.repeat(127)),
    'remote-groups': groups.join(','),
    'svc-abilities': abilities.join(' '),
    'svc-credential': /^token /,
    authorization: /^Bearer ey/,
  })
})
