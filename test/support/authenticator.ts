import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

type CborKey = string | number
type Cbor = number | string | Buffer | Cbor[] | Map<CborKey, Cbor>

/** The head of a CBOR item (RFC 8949 section 3). */
function head(major: number, value: number): Buffer {
  const first = major << 5
  if (value < 24) return Buffer.from([first | value])
  if (value < 256) return Buffer.from([first | 24, value])
  const long = Buffer.alloc(3)
  long[0] = first | 25
  long.writeUInt16BE(value, 1)
  return long
}

/** CBOR as authenticators write it. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)])
}

/** The options of either ceremony, as svc returns them. */
export interface CeremonyOptions {
  challenge: string
  user?: { id: string }
}

/** How a response differs from that of an honest authenticator, browser and person. */
export interface Forgery {
  origin?: string
  rpId?: string
  type?: string
  challenge?: string
  /** Whether the authenticator verified its user. */
  userVerified?: boolean
  userPresent?: boolean
  counter?: number
  backedUp?: boolean
  crossOrigin?: boolean
  topOrigin?: string
  userHandle?: string | undefined
  /** Bytes that follow the authenticator data. */
  trailing?: Buffer
  /** The attestation's format and statement; `self`: signed with the credential's own key. */
  attestation?: 'self' | { fmt: string; attStmt: Map<CborKey, Cbor> }
}

export type Algorithm = 'ES256' | 'RS256' | 'EdDSA'

interface Keys {
  privateKey: KeyObject
  cose: Map<CborKey, Cbor>
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()

const bytesOf = (text: unknown): Buffer => Buffer.from(String(text), 'base64url')

function makeKeys(algorithm: Algorithm): Keys {
  if (algorithm === 'RS256') {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const { n, e } = publicKey.export({ format: 'jwk' })
    const cose: [CborKey, Cbor][] = [
      [1, 3],
      [3, -257],
      [-1, bytesOf(n)],
      [-2, bytesOf(e)],
    ]
    return { privateKey, cose: new Map(cose) }
  }
  if (algorithm === 'EdDSA') {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const cose: [CborKey, Cbor][] = [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytesOf(publicKey.export({ format: 'jwk' }).x)],
    ]
    return { privateKey, cose: new Map(cose) }
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const cose: [CborKey, Cbor][] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, bytesOf(x)],
    [-3, bytesOf(y)],
  ]
  return { privateKey, cose: new Map(cose) }
}

/** One credential on a software authenticator, with the browser around it: honest unless a forgery is given. */
export class Authenticator {
  readonly id: string
  /** The signature counter; an authenticator that does not count leaves it at zero. */
  counter: number
  #userHandle: string | undefined
  readonly #keys: Keys
  readonly #algorithm: Algorithm

  constructor({
    algorithm = 'ES256',
    id = randomBytes(32),
    counter = 0,
  }: { algorithm?: Algorithm; id?: Buffer; counter?: number } = {}) {
    this.id = id.toString('base64url')
    this.counter = counter
    this.#algorithm = algorithm
    this.#keys = makeKeys(algorithm)
  }

  /** The response to creation options. */
  register(options: CeremonyOptions, forgery: Forgery = {}) {
    this.#userHandle = options.user?.id
    const clientDataJSON = clientData('webauthn.create', options, forgery)
    const rawId = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(rawId.length)
    const credential = Buffer.concat([Buffer.alloc(16), length, rawId, cbor(this.#keys.cose)])
    const authData = this.#data(0x40, forgery, credential)
    const { attestation = { fmt: 'none', attStmt: new Map<CborKey, Cbor>() } } = forgery
    const sig = () => this.#sign(Buffer.concat([authData, sha256(clientDataJSON)]))
    const { fmt, attStmt } = attestation === 'self' ? { fmt: 'packed', attStmt: selfSigned(sig()) } : attestation
    const attestationObject = cbor(
      new Map<CborKey, Cbor>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', authData],
      ]),
    )
    return this.#credential({
      clientDataJSON: clientDataJSON.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal', 'hybrid'],
    })
  }

  /** The response to request options; increments the counter if there is one. */
  assert(options: CeremonyOptions, forgery: Forgery = {}) {
    if (this.counter > 0) this.counter++
    const clientDataJSON = clientData('webauthn.get', options, forgery)
    const authenticatorData = this.#data(0, forgery, Buffer.alloc(0))
    const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
    const userHandle = 'userHandle' in forgery ? forgery.userHandle : this.#userHandle
    return this.#credential({
      clientDataJSON: clientDataJSON.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: this.#sign(signed).toString('base64url'),
      ...(userHandle === undefined ? {} : { userHandle }),
    })
  }

  #sign(data: Buffer): Buffer {
    if (this.#algorithm === 'EdDSA') return sign(null, data, this.#keys.privateKey)
    return createSign('sha256').update(data).sign(this.#keys.privateKey)
  }

  #data(more: number, forgery: Forgery, credential: Buffer): Buffer {
    const { userPresent = true, userVerified = true, backedUp = false, trailing = Buffer.alloc(0) } = forgery
    // A backed-up credential is also eligible for backup: both bits.
    const flags = more | (userPresent ? 0x01 : 0) | (userVerified ? 0x04 : 0) | (backedUp ? 0x18 : 0)
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(forgery.counter ?? this.counter)
    return Buffer.concat([sha256(forgery.rpId ?? 'localhost'), Buffer.from([flags]), counter, credential, trailing])
  }

  #credential<Response extends object>(response: Response) {
    return { id: this.id, rawId: this.id, type: 'public-key', response, clientExtensionResults: {} }
  }
}

const selfSigned = (sig: Buffer) =>
  new Map<CborKey, Cbor>([
    ['alg', -7],
    ['sig', sig],
  ])

function clientData(type: string, { challenge }: CeremonyOptions, forgery: Forgery): Buffer {
  const { crossOrigin = false, topOrigin } = forgery
  return Buffer.from(
    JSON.stringify({
      type: forgery.type ?? type,
      challenge: forgery.challenge ?? challenge,
      origin: forgery.origin ?? 'http://localhost:5173',
      crossOrigin,
      ...(topOrigin === undefined ? {} : { topOrigin }),
    }),
  )
}
