import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/port.ts'
import { withClient } from '../support/postgresql.ts'
import type { Running } from '../support/processes.ts'
import { fromPage, host, password, passwordHash, request, secret } from '../support/requests.ts'
import { emailOf } from '../support/rows.ts'
import { type Peer, users } from './peer.ts'
import type { PeerTools } from './tools.ts'

const manifest = JSON.parse(readFileSync(new URL('better-auth/package.json', import.meta.url), 'utf8'))
const origin = `https://${host}`

const signInBody = (user: number) => JSON.stringify({ email: emailOf(user), password })

const signInRequests = Array.from({ length: users }, (_, i) => {
  const body = signInBody(i + 1)
  return request(
    [
      'POST /api/auth/sign-in/email HTTP/1.1',
      `Host: ${host}`,
      'Connection: keep-alive',
      'Accept: application/json',
      `Origin: ${origin}`,
      'Sec-Fetch-Site: same-origin',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ],
    body,
  )
})

/** The session cookie of a user, from a sign-in. */
async function cookieOf({ port }: Running, user: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: signInBody(user),
  })
  await response.arrayBuffer()
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
  if (!cookie) throw new Error(`better-auth answered ${response.status} to a sign-in.`)
  return cookie
}

async function sessionRequests(server: Running, count: number): Promise<Buffer[]> {
  const found = []
  for (let user = 1; user <= count; user++) {
    const cookie = `Cookie: ${await cookieOf(server, user)}`
    const line = 'GET /api/auth/get-session HTTP/1.1'
    found.push(request([line, `Host: ${host}`, 'Connection: keep-alive', ...fromPage, cookie]))
  }
  return found
}

/** The users with svc's hashes. */
const insertUsers = `
  WITH names AS (SELECT i, 'user' || i AS id, 'user' || i || '@example.com' AS email FROM generate_series(1, $2::int) i),
  added AS (
    INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
    SELECT id, 'User ' || i, email, true, now(), now() FROM names RETURNING id
  )
  INSERT INTO account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
  SELECT id, id, 'credential', id, $1, now(), now() FROM names`

/** better-auth on PostgreSQL in one Node process, with svc's hashing. */
export const betterAuth = (tools: Pick<PeerTools, 'better-auth'>): Peer => ({
  name: 'better-auth',
  title: 'better-auth',
  version: manifest.dependencies['better-auth'],
  warmUp: 2,
  store: 'PostgreSQL',
  async prepare(bench) {
    const database = await (await bench.postgresql()).create('better_auth')
    const start = async (...command: string[]) => {
      const port = await freePort()
      const args = [join(tools['better-auth'], 'server.mjs'), String(port), database, origin, secret, ...command]
      return bench.start({ args, port, ready: '/api/auth/ok' })
    }
    await (await start('migrate')).stop()
    await withClient(database, async (client) => {
      await client.query(insertUsers, [passwordHash(), users])
      await client.query('VACUUM ANALYZE')
    })
    return start
  },
  requests: { 'sign-in': () => signInRequests, session: sessionRequests },
})
