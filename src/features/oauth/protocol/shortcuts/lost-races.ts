/** Requests whose code a concurrent request used first. */
const lost = new WeakSet<object>()

/** Notes that a request found its code unused, and that a concurrent request then used it. */
export const noteLostRace = (raw: object): void => void lost.add(raw)

/**
 * Tests for such a request. The library rejects it, but does not take it for the theft of a used code: browsers and proxies
 * repeat requests, and the tokens of the first one stay valid.
 */
export const hasLostRace = (raw: object): boolean => lost.has(raw)
