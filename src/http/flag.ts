const yes = new Set<unknown>([true, 1, '1', 'true', 'on', 'yes'])

const no = new Set<unknown>([false, 0, '0', 'false', 'off', 'no', '', null])

const lowerCase = (flag: unknown): unknown => (typeof flag === 'string' ? flag.toLowerCase() : flag)

/** Parses a boolean form or client flag; unknown values are false. */
export const isSet = (flag: unknown): boolean => yes.has(lowerCase(flag))

/** Whether a value is a boolean, or a form's or client's spelling of one. */
export const isFlag = (flag: unknown): boolean => isSet(flag) || no.has(lowerCase(flag))
