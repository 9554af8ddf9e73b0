// engine: none
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { proxyFor } from '../../../src/platform/http/egress.ts'
import { outboundFetch } from '../../../src/platform/http/outbound.ts'
import { verifySmtp } from '../../../src/platform/mail/smtp.ts'
import { buildHooked, startReceiver } from '../../features/webhooks/receiver.ts'
import { visitor } from '../../support/accounts.ts'
import { testConfig } from '../../support/app.ts'
import { directly, startForwardProxy } from '../../support/forward-proxy.ts'
import { SmtpReceiver } from '../../support/smtp.ts'
import { Authority } from '../../support/tls-proxy.ts'

const through = (proxy: string | null, no_proxy: string[] = []) => ({ ...directly, proxy, no_proxy })

/** Listens on loopback, and returns the port. */
async function listen(t: Test, server: ReturnType<typeof createServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}

const hello: RequestListener = (_request, response) => void response.end('hello')

t.test('calls the hosts of no_proxy and this machine directly', async (t) => {
  const proxy = 'http://proxy.internal:3128'
  const entries = [
    '.svc',
    'corp.example',
    '*.wild.example',
    'Upper.Example',
    '10.0.0.0/8',
    '[fd00::1]',
    'one.example:8443',
  ]
  const direct = `a.svc a.b.svc corp.example www.corp.example a.wild.example upper.example 10.1.2.3 fd00::1
    one.example:8443 localhost 127.0.0.1 ::1 svc.localhost`
  const proxied = `svc notcorp.example wild.example 11.0.0.1 fd00::2 one.example one.example:443 example.com`
  const ask = (text: string, no_proxy: string[]) => {
    const [host = '', port = '443'] = text.includes('::') ? [text] : text.split(':')
    return proxyFor(through(proxy, no_proxy), host, port)
  }
  for (const host of direct.split(/\s+/)) t.equal(ask(host, entries), null, host)
  for (const host of proxied.split(/\s+/)) t.equal(ask(host, entries), proxy, host)
  t.equal(ask('example.com', ['*']), null)
  t.equal(ask('example.com', []), proxy)
  t.equal(proxyFor(through(null), 'example.com', '443'), null)
})

t.test('sends requests through the proxy, and keeps the checks of addresses for direct calls', async (t) => {
  const authority = new Authority(t)
  const { chain, key } = authority.issue({ host: 'idp.example' })
  const plain = await listen(t, createServer(hello))
  const tls = await listen(t, createTlsServer({ cert: readFileSync(chain), key: readFileSync(key) }, hello))
  const proxy = await startForwardProxy(t, { 'hooks.example:80': plain, 'idp.example:443': tls })
  const fetchBy = (outbound = through(proxy.url)) =>
    outboundFetch(
      () => outbound,
      () => false,
    )
  t.equal(await (await fetchBy()('http://hooks.example/x')).text(), 'hello')
  t.same(proxy.seen.splice(0), ['GET http://hooks.example/x'])
  await t.rejects(fetchBy()('https://idp.example/'), /certificate/, 'svc checks the certificate of the host itself')
  t.same(proxy.seen.splice(0), ['CONNECT idp.example:443'])
  await t.rejects(fetchBy()('https://gone.example/'), /Failed to establish tunnel.*502/)
  const wrong = proxy.url.replace('p%40ss', 'wrong')
  const refused = await fetchBy(through(wrong))('https://idp.example/').catch((error: Error) => error.message)
  t.match(refused, /407/)
  t.notMatch(refused, /wrong/, 'without the password')
  proxy.seen.splice(0)

  for (const url of [`http://127.0.0.1:${plain}/`, `http://localhost:${plain}/`, `http://10.0.0.1:${plain}/`]) {
    await t.rejects(fetchBy()(url), /not a public address/, url)
  }
  await t.rejects(fetchBy(through(proxy.url, ['localtest.example']))('http://localtest.example/'), Error)
  t.same(proxy.seen, [])
})

t.test('delivers webhooks and mails through the proxy', async (t) => {
  const [hooks, smtp] = [await startReceiver(t), await SmtpReceiver.start()]
  t.teardown(() => smtp.close())
  const hosts = { 'hooks.example:80': Number(new URL(hooks.url).port), 'smtp.example:2525': smtp.port }
  const proxy = await startForwardProxy(t, hosts)
  const settings = { outbound: { proxy: proxy.url }, mail: { url: 'smtp://smtp.example:2525' } }
  const svc = await buildHooked(t, [{ url: 'http://hooks.example/hooks' }], { settings })
  const { email } = await svc.createUser()
  await svc.browser().signIn(email)
  await (await visitor(svc)).post('/forgot-password', { email })
  await svc.app.outbox.deliverDue()
  t.match(hooks.types(), ['user.login'])
  t.match(smtp.mails, [{ to: email }])
  t.ok(proxy.seen.includes('POST http://hooks.example/hooks'))
  t.ok(proxy.seen.includes('CONNECT smtp.example:2525'))
  const { mail, outbound } = svc.config.current()
  t.match(await verifySmtp(mail, outbound), { isAuthenticated: false })
  await t.rejects(verifySmtp({ ...mail, url: 'smtp://gone.example' }, outbound), /502/)
})

t.test('reads the proxy from the usual variables, and hides its password', async (t) => {
  const outboundOf = (env: Record<string, string>) => testConfig({}, env).current().outbound
  t.match(outboundOf({ HTTPS_PROXY: 'proxy.internal:3128', NO_PROXY: '.svc, 10.0.0.0/8' }), {
    proxy: 'http://proxy.internal:3128',
    no_proxy: ['.svc', '10.0.0.0/8'],
  })
  t.match(outboundOf({ https_proxy: 'http://proxy.internal:3128', no_proxy: 'a b' }), { no_proxy: ['a', 'b'] })
  t.match(outboundOf({ HTTPS_PROXY: '', NO_PROXY: '' }), { proxy: null, no_proxy: [] })
  t.throws(() => outboundOf({ HTTPS_PROXY: 'socks5://user:hidden@proxy' }), {
    message: /^(?!.*hidden).*HTTPS_PROXY.*must be http:\/\/host:port or https:\/\/host:port/s,
  })
})
