/** Latest time that svc accepts in a JWT, in Unix seconds: the year 5138. */
const latest = 100_000_000_000

/** Returns the name of a claim whose time exceeds `latest` or has a fraction of a second, or undefined. */
export const oddTimeOf = (claims: Record<string, unknown>): string | undefined =>
  ['iat', 'exp', 'nbf'].find((name) => claims[name] !== undefined && !isPlainTime(claims[name]))

const isPlainTime = (time: unknown): boolean => Number.isInteger(time) && Math.abs(Number(time)) <= latest

/** Tests for a `jti` of 1 to 256 characters. */
export const isPlainId = (id: unknown): id is string => typeof id === 'string' && id !== '' && id.length <= 256
