// engine: none
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { freePort } from '../../support/port.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** A sentinel of a primary at this port, which announces a failover just before its second answer. */
async function startSentinel(t: Test, primary: string): Promise<string> {
  const sockets = new Set<Socket>()
  const subscribers = new Set<Socket>()
  let answers = 0
  const bulk = (...parts: string[]) => `*${parts.length}\r\n${parts.map((p) => `$${p.length}\r\n${p}\r\n`).join('')}`
  const reply = (socket: Socket, words: string[]) => {
    const [command = '', topic = ''] = words.map((word) => word.toLowerCase())
    if (command === 'subscribe') {
      subscribers.add(socket)
      return socket.write(`*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n`)
    }
    if (command === 'hello') return socket.write("-ERR unknown command 'HELLO'\r\n")
    if (topic !== 'get-master-addr-by-name') return socket.write(command === 'sentinel' ? '*0\r\n' : '+OK\r\n')
    answers++
    if (answers === 2) for (const each of subscribers) each.write(bulk('message', '+switch-master', 'the-primary'))
    return setImmediate(() => socket.write(bulk('127.0.0.1', primary)))
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      for (const [command] of data.toString().matchAll(/\*\d+\r\n(?:\$\d+\r\n.*\r\n)+/g))
        reply(
          socket,
          [...command.matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, word]) => word ?? ''),
        )
    })
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `127.0.0.1:${port}`
}

t.test('reconnects when a failover is announced while it asks for the primary', async (t) => {
  if (!hasRedis(t)) return
  const primary = await startRedis(t)
  const sentinel = await startSentinel(t, new URL(primary.url).port)
  const redis = { url: 'redis://the-primary', sentinels: [sentinel], timeout: '1s' }
  const { app } = await buildTestApp(t, { settings: { redis } })
  t.equal(await app.redis?.ping(), 'PONG')
  const ended: string[] = []
  app.redis?.on('end', () => void ended.push('end'))
  await primary.stop()
  await primary.start()
  await until(async () => (await app.redis?.ping().catch(() => '')) === 'PONG')
  t.same(ended, ['end'], 'the library gave up meanwhile')
})
