// Lets the examples import the sources of @svc/guard, which is not built in a checkout.
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    const [, entry] = /^@svc\/guard\/(\w+)$/.exec(specifier) ?? []
    if (entry === undefined) return next(specifier, context)
    return { url: new URL(`../../packages/guard/src/${entry}.ts`, import.meta.url).href, shortCircuit: true }
  },
})
