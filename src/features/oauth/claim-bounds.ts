/** The latest time that a JWT may name, in unix seconds: the year 5138. */
const latest = 100_000_000_000

/** Whether a JWT's time is whole seconds within reason: anything else does not fit what svc stores of it. */
export const isPlainTime = (time: unknown): time is number => Number.isInteger(time) && Math.abs(Number(time)) <= latest

/** Whether a `jti` is a text of a reasonable length. */
export const isPlainId = (id: unknown): id is string => typeof id === 'string' && id !== '' && id.length <= 256
