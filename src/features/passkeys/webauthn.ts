/** Loads the library with the first ceremony, because it takes about 25 MB of memory. */
export const webauthn = () => import('@simplewebauthn/server')

/** Loads the library's decoders. */
export const decoders = () => import('@simplewebauthn/server/helpers')
