import type { Terminal } from '../../contract/command.ts'
import { printRows } from '../../contract/command-output.ts'
import type { Cipher } from '../../platform/crypto/cipher.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { openDatabase } from '../../platform/database/database.ts'
import { type SealedColumn, visitSealed } from '../../platform/database/sealed-rows.ts'
import { loadSettings } from '../../process/boot.ts'

interface Sealed extends SealedColumn {
  purpose: Parameters<typeof deriveCipher>[1]
  /** Removes what precedes the ciphertext; null if the row has none. */
  bare?: (text: string) => string | null
  contextOf?: (value: string) => string
}

const user = {
  table: 'users',
  key: 'id',
  context: 'id',
  purpose: 'two-factor',
  contextOf: (id: string) => `user ${id}`,
} as const
const columns: readonly Sealed[] = [
  { ...user, name: 'authenticator secrets', column: 'two_factor_secret' },
  { ...user, name: 'recovery codes', column: 'two_factor_recovery_codes' },
  { name: 'signing keys', table: 'oauth_keys', key: 'id', column: 'private_key', context: 'id', purpose: 'oauth-keys' },
  {
    name: 'OAuth records',
    table: 'oauth_records',
    key: 'id',
    column: 'payload',
    context: 'id',
    purpose: 'oauth-records',
    // After the name of the secret and a dot. An empty payload is plain.
    bare: (text) => (text.startsWith('{') ? null : text.slice(text.indexOf('.') + 1)),
  },
  { name: 'mails and other jobs', table: 'outbox', key: 'id', column: 'payload', context: 'kind', purpose: 'outbox' },
  {
    name: 'recorded decisions',
    table: 'decision_batches',
    key: 'id',
    column: 'decisions',
    context: 'id',
    purpose: 'decisions',
    contextOf: () => 'decisions',
  },
]

/** What one secret decrypts. */
interface Found {
  /** Position in `app.secret`, from 1; null for rows that none decrypts. */
  secret: number | null
  data: string
  rows: number
}

/** Prints how many rows need each secret of `app.secret`. Exits with 1 if some row needs another than the first. */
export async function checkSecrets(terminal: Terminal, json?: true): Promise<void> {
  const { app, database: where } = loadSettings().config.current()
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  const found: Found[] = []
  try {
    for (const column of columns) {
      const ciphers = app.secret.map((secret) => deriveCipher([secret], column.purpose))
      const counts = await countsOf(ciphers, (visit) => visitSealed(database, column, visit), column)
      for (const [secret, rows] of counts) found.push({ secret, data: column.name, rows })
    }
  } finally {
    await database.close()
  }
  printRows(terminal, found, { json, columns: ['secret', 'data', 'rows'], empty: 'Nothing is encrypted yet.' })
  const old = found.filter(({ secret }) => secret !== 1)
  if (old.length > 0) process.exitCode = 1
  if (!json && terminal.isTerminal) terminal.print(conclusionOf(old))
}

async function countsOf(
  ciphers: readonly Cipher[],
  each: (visit: (text: string, context: string) => void) => Promise<void>,
  { bare = (text) => text, contextOf = (value) => value }: Sealed,
): Promise<[number | null, number][]> {
  const counts = new Map<number | null, number>()
  await each((text, context) => {
    const sealed = bare(text)
    if (sealed === null) return
    const at = ciphers.findIndex((cipher) => cipher.decrypt(sealed, contextOf(context)) !== null)
    const secret = at < 0 ? null : at + 1
    counts.set(secret, (counts.get(secret) ?? 0) + 1)
  })
  return [...counts].sort(([one], [other]) => (one ?? 1e9) - (other ?? 1e9))
}

function conclusionOf(old: readonly Found[]): string {
  if (old.some(({ secret }) => secret === null))
    return 'Some rows need a secret that app.secret does not have. Add it, or these data are lost.'
  if (old.length > 0) return 'Keep the older secrets: some rows need them.'
  return 'The first secret decrypts everything. Remembered browsers, sessions and mailed links that an older one signed end with it.'
}
