const yes = new Set<unknown>([true, 1, '1', 'true', 'on', 'yes'])

/** Whether a form's or client's flag is set; what is not recognised is not an error but no. */
export const isSet = (flag: unknown): boolean => yes.has(typeof flag === 'string' ? flag.toLowerCase() : flag)
