import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UserWithPassword } from '../../identity/users.ts'
import { visitOf } from '../access/visit.ts'
import { type BrowserMark, browserCookie } from './login-limiter.ts'

/** Marks the browser as known for the account. */
export function rememberBrowser(request: FastifyRequest, reply: FastifyReply, found: UserWithPassword): void {
  const { loginLimiter, clock } = request.server
  send(request, reply, loginLimiter.browserMark(found, clock.now()))
}

/** Renews the mark of a known browser. */
export function renewBrowser(request: FastifyRequest, reply: FastifyReply, found: UserWithPassword): void {
  send(request, reply, request.server.loginLimiter.renewedMark(visitOf(request), found))
}

function send(request: FastifyRequest, reply: FastifyReply, mark: BrowserMark | null): void {
  if (mark) request.server.cookies.set(request, reply, browserCookie, mark.value, { maxAge: mark.maxAge })
}
