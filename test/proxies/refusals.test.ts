// engine: none
import t from 'tap'
import { startProxy } from './proxies.ts'
import { eachProxy, withWorld } from './world.ts'

eachProxy('hides the guard from clients', async (t, { send }, port) => {
  const claims = ['X-Original-URL: https://api.example.com/public/x', 'X-Original-Method: GET']
  const forwarded = ['X-Forwarded-Uri: /public/x', 'X-Forwarded-Method: GET', 'X-Forwarded-Host: api.example.com']
  const spellings = [
    '/svc/guard',
    '/svc/guard/',
    '/svc/guard/public/x',
    '/svc/guard?rule=open',
    '/SVC/guard',
    '/svc/%67uard',
    '/svc/guar%64/x',
    '//svc/guard',
    '/svc//guard',
    '/svc/./guard',
    '/x/../svc/guard',
    '/svc/guard;x',
    '/svc%2fguard',
    '/_svc_guard',
  ]
  for (const host of ['auth.example.com', 'api.example.com']) {
    for (const target of spellings) {
      const { status, body, received } = await send(port, { target, host, headers: [...claims, ...forwarded] })
      const name = `${host}${target}: ${status}`
      t.equal(received, null, name)
      t.match(host === 'auth.example.com' ? [301, 307, 308, 400, 404] : [400, 401, 403, 404], new Set([status]), name)
      if (host === 'auth.example.com') t.notMatch(body, 'invalid_original_request', name)
    }
  }
})

eachProxy('lets clients choose no rule', async (t, { send }, port) => {
  for (const target of ['/secret?rule=open', '/?rule=open', '/%3frule=open', '/secret?x&rule=open', '?rule=open']) {
    const { status, received } = await send(port, { target })
    t.equal(received, null, target)
    t.match([400, 401, 403, 404], new Set([status]), `${target}: ${status}`)
  }
})

eachProxy('passes nothing while the database is down', async (t, { send, svc }, port) => {
  const authorization = `Authorization: Bearer ${await svc.createToken(await svc.createUser())}`
  const rename = (from: string, to: string) =>
    svc.database.prisma.$executeRawUnsafe(`ALTER TABLE ${from} RENAME TO ${to}`)
  await rename('personal_access_tokens', 'away')
  const { status, received } = await send(port, { headers: [authorization] })
  await rename('away', 'personal_access_tokens')
  t.equal(received, null)
  t.match([500, 502, 503], new Set([status]))
  t.equal((await send(port, { headers: [authorization] })).status, 200)
})

eachProxy('passes nothing while svc is down', async (t, { send, svc, link }, port) => {
  const authorization = `Authorization: Bearer ${await svc.createToken(await svc.createUser())}`
  link.cut()
  for (const sent of [{ target: '/public/x' }, { headers: [authorization] }]) {
    const { status, received } = await send(port, sent)
    t.equal(received, null)
    t.match([500, 502, 503, 504], new Set([status]))
  }
  await link.open()
  const recovered = await send(port, { headers: [authorization] })
  t.equal(recovered.status, 200)
})

withWorld((world) => {
  t.test('refuses requests of a proxy that sends no original URI', async (t) => {
    const line = 'proxy_set_header X-Original-URL $scheme://$host$request_uri;'
    const edits = { [line]: 'proxy_set_header X-Original-URL "";' }
    const port = await startProxy(t, 'nginx', { ...world.places, service: world.upstream.port, edits })
    const answer = await world.send(port, { target: '/public/x' })
    t.match(answer, { status: 403, headers: { 'svc-error': 'invalid_original_request' }, received: null })
  })
})

/** A proxy that does not ask svc, in front of the one that does. */
const outer = {
  'auth_request /_svc_guard;': '',
  'proxy_set_header Authorization $svc_authorization;': '',
  'proxy_set_header Cookie $cookies_for_service;': '',
  'proxy_pass http://orders;': 'proxy_pass https://orders; proxy_ssl_server_name on; proxy_ssl_name $host;',
}

eachProxy('guards behind another proxy', async (t, world, inner, name) => {
  const { svc, places, send } = world
  const port = await startProxy(t, 'nginx', { ...places, service: inner, edits: outer })
  const user = await svc.createUser()
  const authorization = `Authorization: Bearer ${await svc.createToken(user)}`
  const passed = await send(port, { target: '/orders/1?a=b', headers: [authorization, 'Remote-User: forged'] })
  t.equal(passed.status, 200)
  t.equal(passed.received?.url, '/orders/1?a=b')
  t.equal(passed.received?.headers['remote-user'], String(user.id))
  t.match(await send(port, { headers: ['Remote-User: forged'] }), { status: 401, received: null })
  const page = await send(port, { headers: ['Accept: text/html'] })
  t.equal(page.status, 302)
  t.match(page.headers.location, encodeURIComponent('https://api.example.com/orders/1'))
  const claimed = { target: '/network', localAddress: '127.0.0.8', headers: ['X-Forwarded-For: 127.0.0.7'] }
  t.match(await send(port, claimed), { status: 401, received: null }, 'a claimed address')
  // The other proxies report the address of the outer proxy, unless their configuration trusts it.
  const isKnown = name === 'nginx' || name === 'haproxy'
  const { status } = await send(port, { target: '/network', localAddress: '127.0.0.7' })
  t.equal(status, isKnown ? 200 : 401)
})
