import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocalJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import type { Test } from 'tap'
import { buildTestApp, type TestApp, type TestAppOptions } from '../../../support/app.ts'
import { clients, codeFlow, oauthSettings, type Person, type Tokens } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

/** A client's endpoint for logout tokens, at its own address. */
export class LogoutReceiver {
  readonly url: string
  /** The status that it answers. */
  status = 200
  /** Whether it never answers. */
  hangs = false
  /** Everything that was posted to it, whatever it answered. */
  readonly received: { body: string; type: string; at: Date }[] = []

  private constructor(url: string) {
    this.url = url
  }

  static async start(t: Test): Promise<LogoutReceiver> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const type = request.headers['content-type'] ?? ''
      party.received.push({ body: Buffer.concat(chunks).toString(), type, at: new Date() })
      if (!party.hangs) response.writeHead(party.status).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const party = new LogoutReceiver(`http://127.0.0.1:${port}/logout`)
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return party
  }

  /** The ids of the ended sessions that it was notified of. */
  async sids(svc: TestApp, audience = 'web'): Promise<unknown[]> {
    return (await this.tokens(svc, audience)).map(({ sid }) => sid)
  }

  /** The received logout tokens, verified by OpenID Connect Back-Channel Logout section 2.6. */
  async tokens(svc: TestApp, audience = 'web'): Promise<JWTPayload[]> {
    const keys = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
    const issuer = svc.config.current().app.url
    return Promise.all(
      this.received.map(async ({ body, at }) => {
        const { payload } = await jwtVerify(new URLSearchParams(body).get('logout_token') ?? '', keys, {
          issuer,
          audience,
          typ: 'logout+jwt',
          currentDate: at,
          requiredClaims: ['iat', 'exp', 'jti', 'sub', 'sid', 'events'],
        })
        return payload
      }),
    )
  }
}

/** The settings of the shared clients; `web` asks for back-channel logout. */
export const partySettings = (party: LogoutReceiver, more: object = {}) => ({
  ...oauthSettings,
  clients: clients.map((client) =>
    client.client_id === 'web'
      ? { ...client, backchannel_logout_uri: party.url, allow_private_addresses: true, ...more }
      : client,
  ),
})

/** svc with a client that asks for logout tokens, and a stopped clock. */
export async function buildWithParty(t: Test, more: object = {}, options: TestAppOptions = {}) {
  const party = await LogoutReceiver.start(t)
  const clock = stopTime(t)
  const settings = { ...partySettings(party, more), ...options.settings }
  const svc = await buildTestApp(t, { ...options, settings, clock })
  return { party, svc, settings, clock }
}

/** The number of OAuth records by kind. */
export async function kinds({ database: { prisma } }: TestApp): Promise<Record<string, number>> {
  const rows = await prisma.oauthRecord.groupBy({ by: ['kind'], _count: true })
  return Object.fromEntries(rows.map(({ kind, _count }) => [kind, _count]))
}

/** The session-bound tokens of `web` for a user, and the id of the session. */
export async function sessionBoundTokens(svc: TestApp, person: Person): Promise<Tokens & { sid: string }> {
  const tokens = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  return { ...tokens, sid: String(decodeJwt(tokens.id_token ?? '').sid) }
}

/** The offline tokens of `own` for a user. */
export const offline = (svc: TestApp, person: Person): Promise<Tokens> =>
  codeFlow(svc, person, 'own', { scope: 'openid offline_access', prompt: 'consent' })
