import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'

/** Hashes of other servers that Node can check: scrypt and PBKDF2 in PHC format, and scrypt as Firebase uses it. */
const scrypt = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]{8,128})\$([\w+/]{22,86})$/
const pbkdf2 = /^\$pbkdf2-sha(256|512)\$i=(\d{1,7}),l=(\d{2})\$([\w+/]{1,128})\$([\w+/]{22,86})$/
const firebase =
  /^\$fbscrypt\$v=1,n=(\d{1,2}),r=(\d{1,2}),p=1,ss=([\w+/]{1,16}),sk=([\w+/]{86})\$([\w+/]{8,64})\$([\w+/]{43,86})$/

/** Maximum memory of one check, in bytes. */
const maxMemory = 128 * 1024 * 1024

/** Maximum iterations of PBKDF2: more than three times OWASP's recommendation. */
const maxIterations = 2_000_000

/**
 * Returns the algorithm and parameters, which determine the cost of a check; null for another algorithm or a hash that is
 * too costly.
 */
export function slowCostOf(stored: string): string | null {
  const [, ln = 0, r = 0, p = 0] = scrypt.exec(stored)?.map(Number) ?? []
  if (ln > 0) {
    const memory = 128 * 2 ** ln * r
    return r > 0 && p > 0 && memory <= maxMemory && memory * p <= 2 * maxMemory
      ? `$scrypt$ln=${ln},r=${r},p=${p}$`
      : null
  }
  const [, n, rounds, separator, signer] = firebase.exec(stored) ?? []
  if (n !== undefined) {
    const memory = 128 * 2 ** Number(n) * Number(rounds)
    const isAffordable = Number(n) > 0 && Number(rounds) > 0 && memory <= maxMemory
    return isAffordable ? `$fbscrypt$v=1,n=${n},r=${rounds},p=1,ss=${separator},sk=${signer}$` : null
  }
  const [, size, iterations, length, , hash = ''] = pbkdf2.exec(stored) ?? []
  if (!size || !(Number(iterations) > 0) || Number(iterations) > maxIterations) return null
  // PBKDF2 takes twice as long for a hash that is longer than the output of its algorithm.
  const bytes = Buffer.from(hash, 'base64').length
  return bytes === Number(length) && bytes <= Number(size) / 8
    ? `$pbkdf2-sha${size}$i=${iterations},l=${length}$`
    : null
}

/** Tests whether the password has this hash. */
export function verifySlowHash(stored: string, password: string): boolean {
  if (slowCostOf(stored) === null) return false
  const [, ln, r, p, salt = '', hash = ''] = scrypt.exec(stored) ?? []
  if (ln !== undefined) {
    const expected = Buffer.from(hash, 'base64')
    const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: 2 * maxMemory + 1024 * 1024 }
    return timingSafeEqual(scryptSync(password, Buffer.from(salt, 'base64'), expected.length, cost), expected)
  }
  if (stored.startsWith('$fbscrypt$')) return verifyFirebase(stored, password)
  const [, size, iterations, , salted = '', derived = ''] = pbkdf2.exec(stored) ?? []
  const expected = Buffer.from(derived, 'base64')
  const salting = Buffer.from(salted, 'base64')
  return timingSafeEqual(pbkdf2Sync(password, salting, Number(iterations), expected.length, `sha${size}`), expected)
}

/** Firebase encrypts the signer key of the project with the derived key; the result is the hash. */
function verifyFirebase(stored: string, password: string): boolean {
  const [, n, r, ...parts] = firebase.exec(stored) ?? []
  const [separator = '', signer = '', salt = '', hash = ''] = parts
  const bytes = (base64: string) => Buffer.from(base64, 'base64')
  const cost = { N: 2 ** Number(n), r: Number(r), p: 1, maxmem: 2 * maxMemory + 1024 * 1024 }
  const derived = scryptSync(password, Buffer.concat([bytes(salt), bytes(separator)]), 32, cost)
  const cipher = createCipheriv('aes-256-ctr', derived, Buffer.alloc(16))
  const found = Buffer.concat([cipher.update(bytes(signer)), cipher.final()])
  const expected = bytes(hash)
  return found.length === expected.length && timingSafeEqual(found, expected)
}
