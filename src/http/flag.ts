const yes = new Set<unknown>([true, 1, '1', 'true', 'on', 'yes'])

/** Parses a boolean form or client flag; unknown values are false. */
export const isSet = (flag: unknown): boolean => yes.has(typeof flag === 'string' ? flag.toLowerCase() : flag)
