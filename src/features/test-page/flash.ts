import type { FastifyReply, FastifyRequest } from 'fastify'

/** Message that a form passes to the page that follows it. */
export interface Flash {
  message: string
  token: string | null
}

const cookie = 'svc_flash'

/** Sends a flash in a cookie. It is not stored in the session's row, because it can contain a token's plain text. */
export function setFlash(request: FastifyRequest, reply: FastifyReply, flash: Flash): void {
  const value = Buffer.from(JSON.stringify(flash)).toString('base64url')
  request.server.cookies.set(request, reply, cookie, value, { maxAge: 60, sameSite: 'lax' })
}

/** Returns the flash of the request and deletes its cookie, so that the page shows it once. */
export function takeFlash(request: FastifyRequest, reply: FastifyReply): Flash | null {
  const value = request.cookies?.[cookie]
  if (value === undefined) return null
  request.server.cookies.clear(request, reply, cookie)
  try {
    const { message, token } = JSON.parse(Buffer.from(value, 'base64url').toString())
    return { message: String(message), token: typeof token === 'string' ? token : null }
  } catch {
    return null
  }
}
