import type Provider from 'oidc-provider'
import type { Registry } from '../../clients/clients.ts'
import { requestFactsOf } from '../browser.ts'
import type { Introspection } from '../introspection/answers.ts'
import { patchAnswer } from './patch.ts'

/** Answers introspection requests once the library has authenticated the client. It finds no token itself. */
export function answerIntrospection(provider: Provider, registry: Registry, introspection: Introspection): void {
  patchAnswer(
    provider,
    'introspection',
    'describes JWTs and API tokens, which the library rejects, and several tokens in one response',
    async (ctx, next) => {
      await next()
      const { asked } = requestFactsOf(ctx.req)
      if (ctx.oidc?.route !== 'introspection' || ctx.status !== 200 || !asked) return
      const { status, body } = await introspection.answer(registry.client(ctx.oidc.client?.clientId), asked)
      ctx.status = status
      ctx.body = body
    },
  )
}
