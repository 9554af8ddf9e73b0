import fastifySession from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../config/current.ts'
import type { Config } from '../config/schema.ts'
import { deriveKeys } from '../crypto/keys.ts'
import { randomId } from '../crypto/random.ts'
import { Signer } from '../crypto/signer.ts'
import { mayReceiveSession } from './cross-site.ts'
import { Xsrf } from './csrf.ts'
import type { SessionStore } from './session-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The session id that came in the cookie with a good signature, or null. Set where a session is read. */
    presentedSessionId: string | null
    /** Whether the request passed the CSRF check. */
    passedCsrf: boolean
  }
}

/** The name of the cookie that carries the XSRF value to the page's script. */
const xsrfCookie = 'XSRF-TOKEN'

interface PairSuffixes {
  session: string
  xsrf: string
}

type Decrypt = FastifyInstance['decryptSession']

/** Reads the browser's session and hands its cookies back: the one place that knows their names and signatures. */
export class Sessions {
  readonly #config: CurrentConfig
  readonly #decrypt: Decrypt
  readonly #signer: Signer
  readonly #suffixes = new WeakMap<Config['session'], PairSuffixes>()
  readonly xsrf: Xsrf

  constructor(config: CurrentConfig, signer: Signer, decrypt: Decrypt) {
    this.#config = config
    this.#signer = signer
    this.#decrypt = decrypt
    this.xsrf = new Xsrf(deriveKeys(config.current().app.secret, 'xsrf'))
  }

  /** Loads `request.session` from the cookie, once; without a good cookie it is a new anonymous one. */
  async read(request: FastifyRequest): Promise<void> {
    if (this.#isRead(request)) return
    request.cookies = request.server.parseCookie(request.headers.cookie ?? '')
    const cookie = request.cookies[this.#config.current().session.cookie] ?? ''
    await this.#load(request, cookie)
    const { sessionId } = request.session
    request.presentedSessionId = cookie.startsWith(`${sessionId}.`) ? sessionId : null
  }

  /** Makes the session of this id (a row that exists, or none yet) the request's, and hands its cookies out. */
  async become(request: FastifyRequest, reply: FastifyReply, sessionId: string): Promise<void> {
    await this.#load(request, this.#signer.sign(sessionId))
    this.sendPair(request, reply)
  }

  /** A new anonymous session: after a logout, nothing of the old one is left in the browser. */
  becomeAnonymous(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.become(request, reply, randomId())
  }

  /**
   * Sets the session cookie and `XSRF-TOKEN`, always together, in place of a pair that was set before.
   * Does nothing in answer to an unsafe request from another site.
   */
  sendPair(request: FastifyRequest, reply: FastifyReply): void {
    if (!mayReceiveSession(request)) return
    const { session } = this.#config.current()
    const { sessionId, encryptedSessionId } = request.session
    const suffixes = this.#suffixesOf(session, request.server)
    // Every answer to a session carries the pair, so it is put together here; other cookies join it when the answer is sent.
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      `${session.cookie}=${encryptedSessionId}${suffixes.session}`,
      `${xsrfCookie}=${this.xsrf.token(sessionId)}${suffixes.xsrf}`,
    ])
  }

  /** The attributes that every cookie of svc shares. */
  attributes(): { path: string; sameSite: 'lax' | 'strict' | 'none'; secure: boolean; domain?: string } {
    const { domain, same_site, secure } = this.#config.current().session
    return { path: '/', sameSite: same_site, secure, ...(domain === null ? {} : { domain }) }
  }

  /** What follows the values of the pair, in the cookie library's words; once for each configuration. */
  #suffixesOf(session: Config['session'], { serializeCookie }: FastifyInstance): PairSuffixes {
    let suffixes = this.#suffixes.get(session)
    if (!suffixes) {
      const attributes = { ...this.attributes(), maxAge: session.lifetime * 60 }
      suffixes = {
        session: serializeCookie('c', '', { ...attributes, httpOnly: true }).slice('c='.length),
        xsrf: serializeCookie('c', '', attributes).slice('c='.length),
      }
      this.#suffixes.set(session, suffixes)
    }
    return suffixes
  }

  #isRead(request: FastifyRequest): boolean {
    return Boolean(request.session)
  }

  #load(request: FastifyRequest, signed: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#decrypt(signed, request, (error?: Error) => (error ? reject(error) : resolve()))
    })
  }
}

/**
 * Registers @fastify/session on a store of rows and lends its reader.
 * Its own hooks would read and save a session on every request, so it lives in a scope without routes.
 */
export async function openSessions(
  app: FastifyInstance,
  config: CurrentConfig,
  store: SessionStore,
): Promise<Sessions> {
  const signer = new Signer(deriveKeys(config.current().app.secret, 'session-cookie'))
  let decrypt: Decrypt | undefined
  await app.register(async (scope) => {
    await scope.register(fastifySession, {
      secret: signer,
      store,
      cookieName: config.current().session.cookie,
      idGenerator: randomId,
      saveUninitialized: false,
      rolling: false,
    })
    decrypt = scope.decryptSession
  })
  if (!decrypt) throw new Error('@fastify/session did not register.')
  return new Sessions(config, signer, decrypt)
}
