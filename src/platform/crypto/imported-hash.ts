import { costOf } from './stored-password.ts'

const unpadded = (base64: string): string => base64.replace(/=+$/, '')

/** passlib writes base64 with `.` instead of `+`. */
const fromPasslib = (base64: string): string => base64.replaceAll('.', '+')

const bytesOf = (base64: string): number => Buffer.from(base64, 'base64').length

/** PBKDF2 of passlib, `$pbkdf2-sha256$29000$<salt>$<hash>`, and of Django, `pbkdf2_sha256$600000$<salt>$<hash>`. */
function phcOf(text: string): string {
  const [, size, rounds, salt = '', hash = ''] = /^\$pbkdf2-sha(256|512)\$(\d+)\$([\w./]*)\$([\w./]+)$/.exec(text) ?? []
  if (size) {
    const own = fromPasslib(hash)
    return `$pbkdf2-sha${size}$i=${rounds},l=${bytesOf(own)}$${fromPasslib(salt)}$${own}`
  }
  const [, iterations, plain = '', digest = ''] = /^pbkdf2_sha256\$(\d+)\$([^$]+)\$([\w+/]+=*)$/.exec(text) ?? []
  if (iterations) {
    const salted = unpadded(Buffer.from(plain).toString('base64'))
    return `$pbkdf2-sha256$i=${iterations},l=${bytesOf(digest)}$${salted}$${unpadded(digest)}`
  }
  const [, without, end] = /^(\$pbkdf2-sha(?:256|512)\$i=\d+)(\$[^$]+\$[^$]+)$/.exec(text) ?? []
  return without && end ? `${without},l=${bytesOf(end.split('$')[2] ?? '')}${end}` : text
}

/** Maximum memory of argon2 times its passes, in KiB. */
const maxArgon2Work = 2 * 1024 * 1024

/** Maximum costs of hashes from elsewhere: a check may take about a second. */
function isAffordable(cost: string): boolean {
  const [, rounds] = /^\$2b\$(\d\d)\$$/.exec(cost) ?? []
  if (rounds) return Number(rounds) >= 4 && Number(rounds) <= 14
  const [, memory, time, lanes] = /^\$argon2id?\$(?:v=\d+\$)?m=(\d+),t=(\d+),p=(\d+)\$$/.exec(cost) ?? []
  if (memory === undefined) return true
  const work = Number(memory) * Number(time)
  return work <= maxArgon2Work && Number(memory) <= 262_144 && Number(time) <= 20 && Number(lanes) <= 16
}

/**
 * Returns the hash of another server as svc stores it, and its cost; null for an unknown format or a hash that would cost
 * too much to check.
 */
export function importedHash(text: string): { hash: string; cost: string } | null {
  const hash = phcOf(text)
  const cost = hash.length <= 512 ? costOf(hash) : null
  return cost !== null && isAffordable(cost) ? { hash, cost } : null
}
