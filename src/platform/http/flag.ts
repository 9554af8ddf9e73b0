const yes = new Set<unknown>([true, 1, '1', 'true', 'on', 'yes'])

const no = new Set<unknown>([false, 0, '0', 'false', 'off', 'no', '', null])

const lowerCase = (flag: unknown): unknown => (typeof flag === 'string' ? flag.toLowerCase() : flag)

/** Parses a boolean form or client flag; unknown values are false. */
export const isSet = (flag: unknown): boolean => yes.has(lowerCase(flag))

/** Tests for a boolean, or a spelling of one that forms and clients send. */
export const isFlag = (flag: unknown): boolean => isSet(flag) || no.has(lowerCase(flag))
