/** Values that the callbacks receive and return. */
type Facts = Record<string, unknown>

export interface AuthConfig {
  trustHost: boolean
  secret: string
  basePath: string
  providers: readonly object[]
  callbacks: {
    jwt(facts: { token: Facts; profile?: Facts; account?: Facts }): Facts
    session(facts: { session: { user: Facts }; token: Facts }): Facts
  }
}

/** Answers a request to a route of Auth.js. */
export function Auth(request: Request, config: AuthConfig): Promise<Response>
