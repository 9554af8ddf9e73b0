/** The parts of a Node request that the adapters use. */
export interface NodeRequest {
  headers: { authorization?: string | undefined }
  rawHeaders?: readonly string[]
}

/** Returns the values of all `Authorization` headers. Node's `headers` has only the first one and would hide others. */
export function authorizationOf({ headers, rawHeaders = [] }: NodeRequest): string[] {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && isAuthorization(rawHeaders[index - 1]))
  if (values.length > 1) return values
  return headers.authorization === undefined ? [] : [headers.authorization]
}

const isAuthorization = (name = ''): boolean => name.length === 13 && name.toLowerCase() === 'authorization'
