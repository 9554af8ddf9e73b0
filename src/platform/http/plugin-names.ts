import type { FastifyInstance } from 'fastify'

const displayName = Symbol.for('fastify.display-name')

/**
 * Names every plugin after its function. Without a name, Fastify searches the exports of every loaded module for the
 * plugin, which takes a tenth of the time to build an app.
 */
export function namePlugins(app: FastifyInstance): void {
  const { register } = app
  const named = function (this: FastifyInstance, ...[plugin, ...options]: Parameters<typeof register>) {
    if (typeof plugin === 'function' && !(displayName in plugin)) Object.assign(plugin, { [displayName]: plugin.name })
    return Reflect.apply(register, this, [plugin, ...options])
  }
  Object.assign(app, { register: named })
}
