// lane: all
import type { LightMyRequestResponse } from 'fastify'
import Sqlite from 'libsql'
import t from 'tap'
import { protocolPaths } from '../../../../src/features/oauth/protocol/paths.ts'
import { buildTestApp } from '../../../support/app.ts'
import { createTestDatabase, testEngine } from '../../../support/postgresql.ts'
import { openProxy } from '../../../support/proxy.ts'
import { stopTime } from '../../../support/time.ts'
import { until } from '../../../support/until.ts'
import { oddProtocolRequest } from './odd.ts'
import { authorizationQuery, gather, settings, signedIn } from './pieces.ts'

const device = { method: 'POST', url: '/oauth/device/code', payload: { client_id: 'tv' } } as const

/** A failure that a program or a browser may retry. */
const isOutage = ({ statusCode, headers, body }: LightMyRequestResponse): boolean => {
  if (statusCode !== 503 || !/^\d+$/.test(String(headers['retry-after']))) return false
  if (String(headers['content-type']).startsWith('text/html')) return body.includes('Temporarily unavailable')
  return /"(error":"temporarily_unavailable|code":"unavailable)"/.test(body)
}

if (testEngine === 'postgresql') {
  t.test('answers with Retry-After while the database is away', async (t) => {
    const place = await createTestDatabase()
    t.teardown(place.drop)
    const proxy = await openProxy(t, new URL(place.url))
    const svc = await buildTestApp(t, { settings, clock: stopTime(t), database: { url: proxy.url } })
    const browser = await signedIn(svc)
    const pieces = await gather(svc, browser)
    const paths = {
      ...Object.fromEntries(Object.entries(protocolPaths).map(([path, { methods }]) => [path, methods])),
      '/oauth/interaction/:uid': ['GET', 'POST'],
    }
    proxy.cut()
    const flaws: string[] = []
    const away = new Set<string>()
    for (let i = 0; i < 600; i += 50) {
      const asked = Array.from({ length: 50 }, () => oddProtocolRequest(paths, pieces))
      const answers = await Promise.all(asked.map(({ name: _, ...sent }) => svc.app.inject(sent)))
      for (const [j, answer] of answers.entries()) {
        if (answer.statusCode === 503) away.add(asked[j]?.name ?? '')
        const isHead = asked[j]?.method === 'HEAD'
        if (answer.statusCode >= 500 && !isHead && !isOutage(answer))
          flaws.push(`${answer.statusCode} ${answer.body.slice(0, 200)}: ${JSON.stringify(asked[j]).slice(0, 400)}`)
      }
    }
    t.same(flaws.slice(0, 5), [])
    const reading = ['/oauth/authorize', '/oauth/token', '/oauth/device', '/oauth/userinfo', '/oauth/interaction/:uid']
    for (const path of reading) t.ok(away.has(path), `${path} needs it`)
    const metadata = await svc.app.inject('/.well-known/openid-configuration')
    t.equal(metadata.statusCode, 200, 'published documents need none')
    t.equal((await svc.app.inject('/.well-known/jwks.json')).statusCode, 200)
    t.same(
      svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line)).slice(0, 2),
      [],
      'an outage is not logged as an internal error',
    )

    await proxy.open()
    await until(async () => (await svc.app.inject(device)).statusCode === 200)
    const answer = await browser.get(`/oauth/authorize?${authorizationQuery('web')}`)
    t.match(answer.headers.location, /\?code=/, 'it recovers without a restart')
  })
} else {
  t.test('answers with Retry-After while another process locks the file', async (t) => {
    const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
    const browser = await signedIn(svc)
    const other = new Sqlite(svc.where.file ?? '')
    other.exec('BEGIN EXCLUSIVE')
    const accept = 'text/html'
    const page = await browser.get(`/oauth/authorize?${authorizationQuery('web')}`, { accept })
    t.ok(isOutage(page), `${page.statusCode} ${page.body.slice(0, 300)}`)
    const answer = await svc.app.inject(device)
    t.ok(isOutage(answer), `${answer.statusCode} ${answer.body}`)
    other.exec('ROLLBACK')
    other.close()
    t.equal((await svc.app.inject(device)).statusCode, 200)
    t.match((await browser.get(`/oauth/authorize?${authorizationQuery('web')}`)).headers.location, /\?code=/)
    t.same(svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line)).slice(0, 2), [])
  })
}
