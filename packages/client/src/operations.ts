import type { components, paths } from './description.ts'

type Schemas = components['schemas']

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths of the description that have this method. */
type PathOf<Method extends HttpMethod> = {
  [Path in keyof paths]: Lowercase<Method> extends keyof paths[Path] ? Path : never
}[keyof paths]

type Operation<Method extends HttpMethod, Path extends PathOf<Method>> = paths[Path][Lowercase<Method> &
  keyof paths[Path]]

/** Options of every call. */
export interface CallOptions {
  /** Aborts the request. The call rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  headers?: Record<string, string> | undefined
}

/** Keys of a request that the operation does not have. */
type Nothing = Record<never, never>

type PathInput<Op> = Op extends { parameters: { path: infer Values } }
  ? { path: { [Name in keyof Values]: string | number } }
  : Nothing

type QueryInput<Op> = Op extends { parameters: { query?: infer Values } } ? { query?: Values } : Nothing

type BodyInput<Op> = Op extends { requestBody: { content: { 'application/json': infer Body } } }
  ? Nothing extends Body
    ? { body?: Body }
    : { body: Body }
  : Nothing

/** The parameters and the body of an operation. */
type Input<Op> = PathInput<Op> & QueryInput<Op> & BodyInput<Op> & CallOptions

type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Json } } ? Json : undefined

/** The body of the successful response; `undefined` if it has none. */
type Result<Op> = Op extends { responses: infer Answers } ? JsonOf<Answers[keyof Answers]> : never

/** The body of a request to an operation. */
export type BodyOf<Method extends HttpMethod, Path extends PathOf<Method>> =
  Operation<Method, Path> extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : never

/** The body of the response of an operation. */
export type ResultOf<Method extends HttpMethod, Path extends PathOf<Method>> = Result<Operation<Method, Path>>

/** Sends a request that the description has, with the types of its parameters, body and response. */
export type Request = <Method extends HttpMethod, Path extends PathOf<Method>>(
  method: Method,
  path: Path,
  ...input: Nothing extends Input<Operation<Method, Path>>
    ? [input?: Input<Operation<Method, Path>>]
    : [input: Input<Operation<Method, Path>>]
) => Promise<Result<Operation<Method, Path>>>

export type User = Schemas['User']
export type Token = Schemas['Token']
export type Session = Schemas['Session']
export type Passkey = Schemas['Passkey']

/** Base class of the objects that group calls, such as `svc.tokens`. */
export class Calls {
  /** @internal */
  protected readonly request: Request

  constructor(request: Request) {
    this.request = request
  }
}
