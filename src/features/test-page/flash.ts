import type { FastifyReply, FastifyRequest } from 'fastify'

/** What a form tells the page that comes after it. */
export interface Flash {
  message: string
  token: string | null
}

const cookie = 'svc_flash'

/** Hands a flash to the browser rather than to the session's row: a token's plain text is stored nowhere. */
export function setFlash(request: FastifyRequest, reply: FastifyReply, flash: Flash): void {
  const value = Buffer.from(JSON.stringify(flash)).toString('base64url')
  request.server.cookies.set(request, reply, cookie, value, { maxAge: 60, sameSite: 'lax' })
}

/** The flash, shown only once. */
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
