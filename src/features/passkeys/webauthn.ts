/** The library, loaded with the first ceremony: until then it would only cost the process some 25 MB of memory. */
export const webauthn = () => import('@simplewebauthn/server')

/** The library's decoders. */
export const decoders = () => import('@simplewebauthn/server/helpers')
