// engine: none
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { listenHost } from '../../src/platform/http/listen.ts'
import { findProgram } from '../proxies/tools.ts'
import { startWithAda } from '../support/listening.ts'
import { freePort, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

const hasIpv6 = (await listenHost('::')) === '::'

t.test('listens on IPv4 and IPv6, for requests and metrics', { skip: !hasIpv6 && 'no IPv6' }, async (t) => {
  const port = await freePort()
  const svc = await startWithAda(t, {}, { metrics: { port } })
  for (const host of ['127.0.0.1', '[::1]']) {
    t.equal((await fetch(`http://${host}:${svc.port}/health/live`)).status, 200, host)
    t.equal((await fetch(`http://${host}:${port}/metrics`)).status, 200, host)
  }
  const signIn = (host: string) =>
    fetch(`http://${host}:${svc.port}/svc/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'wrong', device_name: 'Phone' }),
    })
  for (const host of ['127.0.0.1', '[::1]']) t.equal((await signIn(host)).status, 422)
  await svc.printed(/"event":"login_failed","ip":"127\.0\.0\.1"/)
  await svc.printed(/"event":"login_failed","ip":"::1"/)
})

t.test(
  'names the address of a proxy that dials localhost, until it is trusted',
  { skip: !hasIpv6 && 'no IPv6' },
  async (t) => {
    const program = findProgram('nginx')
    if (!program) throw new Error('nginx is missing.')
    const cwd = temporaryDirectory(t)
    const [port, front] = [await freePort(), await freePort()]
    const settings = (trusted: string[]) =>
      JSON.stringify({
        server: { port, trust_proxy: trusted },
        guard: { rules: [{ hosts: ['localhost'], access: 'public' }] },
      })
    writeFileSync(
      join(cwd, 'nginx.conf'),
      `daemon off; pid ${cwd}/nginx.pid; error_log stderr; events {}
http {
  access_log off; client_body_temp_path ${cwd}/body; proxy_temp_path ${cwd}/proxy; fastcgi_temp_path ${cwd}/f;
  uwsgi_temp_path ${cwd}/u; scgi_temp_path ${cwd}/s;
  server {
    listen 127.0.0.1:${front};
    location = /x {
      proxy_pass http://[::1]:${port}/svc/guard;
      proxy_set_header X-Original-URL http://localhost$request_uri;
      proxy_set_header X-Original-Method $request_method;
    }
  }
}`,
    )
    const proxy = spawn(program, ['-p', cwd, '-c', 'nginx.conf'], { stdio: 'ignore' })
    t.teardown(() => proxy.kill())
    const ask = () => sendRequest(`http://127.0.0.1:${front}`, { url: '/x', headers: { accept: 'application/json' } })
    for (const [trusted, status] of [
      [['127.0.0.1'], 400],
      [['127.0.0.1', '::1'], 200],
    ] as const) {
      writeFileSync(join(cwd, 'svc.yaml'), settings([...trusted]))
      const svc = await startMain(t, { cwd, env: { SVC_CONFIG: 'svc.yaml', PORT: String(port) } })
      await until(async () => (await ask().catch(() => null)) !== null)
      const answer = await ask()
      t.equal(answer.statusCode, status, trusted.join())
      if (status === 400) t.match(answer.json().message, 'If ::1 is your proxy, add it to server.trust_proxy.')
      await svc.stop()
    }
  },
)

t.test('uses IPv4 only where the machine has no IPv6, and no other host', async (t) => {
  t.equal(await listenHost('127.0.0.1'), '127.0.0.1')
  for (const code of ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EACCES']) {
    const refusing = () => {
      const server = createServer()
      return Object.assign(server, { listen: () => server.emit('error', Object.assign(new Error(code), { code })) })
    }
    // Sound: the function only listens and closes.
    const chosen = await listenHost('::', refusing as unknown as typeof createServer)
    t.equal(chosen, code === 'EACCES' ? '::' : '0.0.0.0', code)
  }
})
