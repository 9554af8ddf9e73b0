import SerializerSelector from '@fastify/fast-json-stringify-compiler'

const select = SerializerSelector()

/**
 * Fastify's own compiler of response serializers, which compiles each schema on its first response: compiling all of them
 * would dominate the start.
 */
export const buildSerializer: typeof select = (schemas, options) => {
  const compile = select(schemas, options)
  return (route) => {
    let serialize: ReturnType<typeof compile> | undefined
    return (data) => {
      serialize ??= compile(route)
      return serialize(data)
    }
  }
}
