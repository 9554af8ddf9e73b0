/** The latest time that a JWT may name, in unix seconds: the year 5138. */
const latest = 100_000_000_000

/** The name of a claim whose time is not whole seconds within reason, and so does not fit what svc stores; else undefined. */
export const oddTimeOf = (claims: Record<string, unknown>): string | undefined =>
  ['iat', 'exp', 'nbf'].find((name) => claims[name] !== undefined && !isPlainTime(claims[name]))

const isPlainTime = (time: unknown): boolean => Number.isInteger(time) && Math.abs(Number(time)) <= latest

/** Whether a `jti` is a text of a reasonable length. */
export const isPlainId = (id: unknown): id is string => typeof id === 'string' && id !== '' && id.length <= 256
