import type { FastifyInstance } from 'fastify'

/** A path with the methods that the router knows there, 405 ones included. */
export interface RoutedPath {
  path: string
  methods: string[]
}

/** Every path of the router, from the tree that it prints. */
export function routedPaths(app: FastifyInstance): RoutedPath[] {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const match = /^([│ ]*)[├└]── (.*) \(([A-Z, ]+)\)$/.exec(line)
      if (!match) return []
      const [, indent = '', part = '', methods = ''] = match
      const depth = indent.length / 4
      parents.length = depth
      parents.push(part)
      return [{ path: parents.join(''), methods: methods.split(', ') }]
    })
}

/** The path as an API description writes it: `/api/tokens/{id}`. */
export const templated = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

/** The path of a record that may exist. */
export const concrete = (path: string): string => path.replace(/:\w+/g, '1')
