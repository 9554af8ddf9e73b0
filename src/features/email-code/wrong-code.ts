/** Message for a wrong, expired or used code, and for an address without an account, so that they look the same. */
export const wrongCode = 'The provided code was incorrect or has expired.'
