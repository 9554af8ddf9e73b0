import type { ProofRequest } from './dpop.ts'

/** The parts of a Node request that the adapters use. */
export interface NodeRequest {
  headers: { authorization?: string | undefined; dpop?: string | string[] | undefined }
  rawHeaders?: readonly string[]
  method?: string | undefined
  url?: string | undefined
}

/** Returns the values of all `Authorization` headers. Node's `headers` has only the first one and would hide others. */
export const authorizationOf = (request: NodeRequest): string[] =>
  valuesOf(request, 'authorization', request.headers.authorization)

/** Returns what a DPoP proof of the request must be for. `url` is the whole one, without the prefix of a router cut off. */
export const proofRequestOf = (request: NodeRequest, url = request.url ?? ''): ProofRequest => ({
  proofs: valuesOf(request, 'dpop', request.headers.dpop),
  method: request.method ?? '',
  path: url,
})

function valuesOf({ rawHeaders = [] }: NodeRequest, name: string, parsed: string | string[] | undefined): string[] {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
  return values.length > 1 ? values : [parsed ?? []].flat()
}
