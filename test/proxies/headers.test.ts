// engine: none
import { signedIn } from '../features/forward-auth/sessions.ts'
import { navigation } from '../features/forward-auth/setup.ts'
import { type Received, valuesOf } from './upstream.ts'
import { eachProxy } from './world.ts'

const browser = Object.entries(navigation).map(([name, value]) => `${name}: ${value}`)
const identity = [
  'Remote-User',
  'Remote-Email',
  'Remote-Name',
  'Remote-Groups',
  'Svc-User-Id',
  'Svc-Abilities',
  'Svc-Actor',
  'Svc-Credential',
]

/** Spellings under which a server may read a header. */
const spellings = (name: string): string[] => {
  const words = name.split('-')
  const joined = words.reduce<string[]>(
    (heads, word) => (heads[0] === '' ? [word] : heads.flatMap((head) => [`${head}-${word}`, `${head}_${word}`])),
    [''],
  )
  return [...joined, name.toLowerCase(), name.toUpperCase()]
}

eachProxy('removes forged identity headers in every spelling', async (t, { send, svc }, port) => {
  const user = await svc.createUser()
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { groups: '["staff"]' } })
  const token = await svc.createToken(user)
  for (const name of identity) {
    for (const spelling of spellings(name)) {
      for (const target of ['/public/x', '/orders/1']) {
        const forged = [`${spelling}: forged`, `${spelling}: forged too`]
        const headers = target === '/orders/1' ? [...forged, `Authorization: Bearer ${token}`] : forged
        const { status, received } = await send(port, { target, headers })
        // Envoy rejects names with underscores.
        t.ok(status === 200 || (status === 400 && spelling.includes('_')), `${spelling}: ${status}`)
        if (!received) continue
        const values = valuesOf(received, name)
        t.notMatch(values.join(), 'forged', `${spelling} for ${target}`)
        // No agent acts with this token, so the header must disappear.
        const expected = target === '/orders/1' && name !== 'Svc-Actor' ? 1 : 0
        t.equal(values.length, expected, `${spelling} for ${target}`)
      }
    }
  }
})

eachProxy('sends identity headers that a client names in Connection', async (t, { send, svc }, port) => {
  const user = await svc.createUser()
  const authorization = `Authorization: Bearer ${await svc.createToken(user)}`
  const names = [...identity, 'X-Forwarded-For', 'X-Original-URL', 'X-Forwarded-Uri', 'Cookie']
  const connection = `Connection: close, ${names.join(', ')}`
  const { status, received } = await send(port, { headers: [connection, authorization] })
  t.match([200, 400], new Set([status]))
  if (received) t.same(valuesOf(received, 'Remote-User'), [String(user.id)])
})

eachProxy('sends the service neither cookies of svc nor tokens', async (t, { send, svc }, port, proxy) => {
  const user = await svc.createUser()
  const cookies = await signedIn(svc, user.email)
  t.match(cookies, /svc_session=/)
  const sent = `a=1; ${cookies}; svc_remember=secret; svc_bound=secret; theme=dark`
  const page = await send(port, { headers: [`Cookie: ${sent}`, ...browser, 'Origin: https://app.example.com'] })
  t.equal(page.status, 200)
  t.equal(page.received?.headers['remote-user'], String(user.id))
  const received = page.received?.headers.cookie ?? ''
  t.match(received, 'a=1')
  t.match(received, 'theme=dark')
  // Traefik cannot change a cookie.
  const isRemoved = proxy !== 'traefik'
  t.equal(!/svc_(session|remember|bound)/.test(received), isRemoved)
  const authorization = `Authorization: Bearer ${await svc.createToken(user)}`
  const program = await send(port, { headers: [authorization, 'X-Api-Key: own'] })
  t.equal(program.status, 200)
  t.equal(program.received?.headers['x-api-key'], 'own')
  t.equal(program.received?.headers.authorization, undefined)
  const two = await send(port, { headers: [authorization, 'Authorization: Bearer other'] })
  t.match([200, 400, 401], new Set([two.status]))
  t.equal(two.received?.headers.authorization, undefined)
  const open = await send(port, { target: '/public/x', headers: [authorization] })
  t.equal(open.received?.headers.authorization, undefined)
})

eachProxy('sends the service no cookie of svc that the browser has twice', async (t, { send, svc }, port, proxy) => {
  // A service can set a second cookie of the same name for its own host.
  const cookies = ['svc_session', '__Secure-svc_session', 'svc_remember', '__Secure-svc_browser', 'svc_bound'].map(
    (name) => `${name}=planted; ${name}=secret; ${name}=planted`,
  )
  const authorization = `Authorization: Bearer ${await svc.createToken(await svc.createUser())}`
  for (const cookie of [...cookies, cookies.join('; '), '__Secure-svc_browser=secret']) {
    for (const target of ['/public/x', '/orders/1']) {
      const { status, received } = await send(port, { target, headers: [authorization, `Cookie: ${cookie}`] })
      t.equal(status, 200)
      // Traefik cannot change a cookie.
      t.equal(/secret/.test(received?.headers.cookie ?? ''), proxy === 'traefik', cookie)
    }
  }
})

eachProxy('sends the service the JWT of svc instead of the token of the client', async (t, { send, svc }, port) => {
  const token = await svc.createToken(await svc.createUser())
  const { status, received } = await send(port, { target: '/reports', headers: [`Authorization: Bearer ${token}`] })
  t.equal(status, 200)
  const [value = '', ...others] = valuesOf(received as Received, 'Authorization')
  t.same(others, [])
  const [, payload = ''] = value.replace(/^Bearer /, '').split('.')
  t.match(JSON.parse(Buffer.from(payload, 'base64url').toString()), {
    aud: 'https://orders.example.com',
    scope: 'orders:read',
  })
})

eachProxy('removes headers that name another request', async (t, { send }, port) => {
  const urls = ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix']
  const forwarded = ['X-Forwarded-Uri', 'X-Forwarded-Method', 'X-Forwarded-Host', 'X-Forwarded-Proto']
  for (const name of [...urls, ...forwarded, 'X-Original-Method']) {
    for (const spelling of spellings(name)) {
      const headers = [`${spelling}: /public/x`, `${spelling}: /public/y`]
      const secret = await send(port, { target: '/secret', headers })
      t.match([400, 401, 403], new Set([secret.status]), `${spelling}: ${secret.status}`)
      t.equal(secret.received, null)
      const open = await send(port, { target: '/public/x', headers: [`${spelling}: /secret`] })
      if (open.received) t.notMatch(valuesOf(open.received, name).join(), 'secret', spelling)
    }
  }
})

eachProxy('reports the address of the client', async (t, { send }, port) => {
  const target = '/network'
  t.equal((await send(port, { target, localAddress: '127.0.0.7' })).status, 200)
  t.equal((await send(port, { target, localAddress: '127.0.0.8' })).status, 401)
  const headers = ['X-Forwarded-For: 127.0.0.7']
  t.equal((await send(port, { target, localAddress: '127.0.0.8', headers })).status, 401, 'a claimed address')
})

eachProxy('believes the outer of two proxies, and no line that a client forged', async (t, { send }, port, proxy) => {
  const target = '/network'
  // The outer proxy adds the address of its client in a line of its own, or to the line of the client.
  const statusOf = async (forged: string, real: string, isJoined: boolean) => {
    const lines = isJoined
      ? [`X-Forwarded-For: ${forged}, ${real}`]
      : [forged, real].map((each) => `X-Forwarded-For: ${each}`)
    return (await send(port, { target, localAddress: '127.0.0.9', headers: lines })).status
  }
  for (const isJoined of [true, false]) {
    t.equal(await statusOf('127.0.0.7', '127.0.0.8', isJoined), 401, 'a forged address')
    // Caddy and Traefik report the outer proxy unless they trust it.
    const expected = ['caddy', 'traefik'].includes(proxy) ? 401 : 200
    t.equal(await statusOf('127.0.0.8', '127.0.0.7', isJoined), expected, 'the address of the client')
  }
})

eachProxy('sends the port that it serves, whatever port the client names', async (t, { send }, port) => {
  for (const host of ['api.example.com:8443', 'API.example.com.:8443'])
    t.equal((await send(port, { target: '/other-port', host })).received, null, host)
  const { received } = await send(port, { target: '/public/x', host: 'api.example.com:8443' })
  if (received) t.notMatch(`${received.headers.host} ${received.headers['x-forwarded-host']}`, '8443')
})
