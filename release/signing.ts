import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

/** Reads the private key of a maintainer, in PEM. Throws unless it is an Ed25519 key, whose signatures are reproducible. */
export function readKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file} is not an Ed25519 key.`)
  return key
}

/** Signs a file: `<file>.sig` has the 64 bytes of the signature, as `openssl pkeyutl -rawin` verifies it. */
export function signFile(file: string, key: KeyObject): void {
  writeFileSync(`${file}.sig`, sign(null, readFileSync(file), key))
}

const payloadType = 'application/vnd.in-toto+json'

/** Writes a statement as a DSSE envelope, as the tools for in-toto read it; without a key it has no signature. */
export function signEnvelope(file: string, statement: object, key: KeyObject | null): void {
  const payload = Buffer.from(JSON.stringify(statement))
  const signatures = key
    ? [{ keyid: keyIdOf(key), sig: sign(null, preAuthenticated(payload), key).toString('base64') }]
    : []
  writeFileSync(file, `${JSON.stringify({ payloadType, payload: payload.toString('base64'), signatures })}\n`)
}

/** The bytes that the signature of an envelope covers (DSSE protocol, PAE). */
const preAuthenticated = (payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload])

/** The public key in base64, without the fixed prefix of its encoding. */
const keyIdOf = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')
