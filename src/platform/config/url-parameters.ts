import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileReason } from './file-reason.ts'

/** Values of `sslmode`. libpq's `allow` and `prefer` are missing, because they can end in clear text. */
const sslModes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full']

type Rule = (value: string) => string | null

const anyText: Rule = () => null
const readableFile: Rule = (file) => {
  try {
    readFileSync(file)
    return null
  } catch (error) {
    return `must be a readable file (${fileReason(error)})`
  }
}

/** Returns why a file does not begin with a certificate in PEM, or null. */
export function certificateProblem(file: string): string | null {
  const problem = readableFile(file)
  if (problem !== null) return problem
  try {
    new X509Certificate(readFileSync(file))
    return null
  } catch {
    return 'must be a PEM file with certificates'
  }
}

/** What follows the host of each kind of URL. */
interface Rest {
  /** Parameters that svc reads. */
  parameters: Record<string, Rule>
  /** The path. */
  path: RegExp
  expected: string
}

/** Parameters of PostgreSQL have the names that libpq uses. */
const postgresql: Rest = {
  parameters: {
    application_name: anyText,
    connect_timeout: (value) => (/^[1-9]\d{0,3}$/.test(value) ? null : 'must be a number of seconds from 1 to 9999'),
    host: anyText,
    options: anyText,
    password: anyText,
    port: (value) => (/^\d{1,5}$/.test(value) ? null : 'must be a port'),
    sslcert: readableFile,
    sslkey: readableFile,
    sslmode: (value) => (sslModes.includes(value) ? null : `must be one of ${sslModes.join(', ')}`),
    sslrootcert: certificateProblem,
    user: anyText,
  },
  path: /^(\/[^/]*)?$/,
  expected: 'the name of the database',
}
const mariadb: Rest = {
  ...postgresql,
  parameters: { ssl: (value) => (/^(true|1|required)$/.test(value) ? null : 'must be true') },
}
const redis: Rest = { parameters: {}, path: /^\/?\d{0,9}$/, expected: 'the number of the database, such as /1' }
const smtp: Rest = { parameters: {}, path: /^\/?$/, expected: 'nothing' }

const kinds: Record<string, Rest> = {
  'postgresql:': postgresql,
  'postgres:': postgresql,
  'mariadb:': mariadb,
  'mysql:': mariadb,
  'redis:': redis,
  'rediss:': redis,
  'smtp:': smtp,
  'smtps:': smtp,
}

/** Tests whether a part of a URL can be decoded. */
function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/**
 * Returns what is wrong behind the host of a connection URL, or null. Nothing in it may be ignored: a misspelled `sslmode`
 * would connect in clear text. The message never repeats a value, because a `?` in a password begins the parameters.
 */
export function connectionUrlProblem(text: string): string | null {
  const url = URL.parse(text)
  const rest = url && kinds[url.protocol]
  if (!rest) return null
  const { parameters, path, expected } = rest
  const known = Object.keys(parameters)
  if (!isEncoded(url.username) || !isEncoded(url.password) || !isEncoded(url.pathname))
    return 'has a % without two hexadecimal digits after it; write it as %25'
  if (url.hash !== '') return 'must not contain a #; write it as %23 in a password'
  if (!path.test(url.pathname)) return `must have ${expected} after the host and port`
  for (const [name, value] of url.searchParams) {
    const rule = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (!rule) {
      const named = /^[\w.-]{1,40}$/.test(name) ? `the parameter ${name}` : 'a parameter'
      const allowed = known.length === 0 ? 'It has none' : `Its parameters are ${known.join(', ')}`
      return `has ${named}, which svc does not know. ${allowed}. Write a ? in a password as %3F`
    }
    if (url.searchParams.getAll(name).length > 1) return `has the parameter ${name} more than once`
    const problem = rule(value)
    if (problem !== null) return `has the parameter ${name}, which ${problem}`
  }
  const isClear = url.searchParams.get('sslmode') === 'disable'
  const files = ['sslcert', 'sslkey', 'sslrootcert'].filter((name) => url.searchParams.has(name))
  if (isClear && files.length > 0) return `must not have the parameter ${files[0]} with sslmode=disable`
  return null
}
