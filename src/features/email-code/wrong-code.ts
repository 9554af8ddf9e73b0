/** The same for a wrong, expired or used code, and for an address without an account. */
export const wrongCode = 'The provided code was incorrect or has expired.'
