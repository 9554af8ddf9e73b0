import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { TestApp } from './app.ts'

/** Everything in the database, as in a stolen backup: SQLite's files byte by byte, or every row of every table. */
export async function dumpDatabase({ where }: Pick<TestApp, 'where'>): Promise<string> {
  if (where.file)
    return ['', '-wal'].map((suffix) => readFileSync(`${where.file}${suffix}`).toString('latin1')).join('')
  const client = new pg.Client({ connectionString: where.url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'",
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      texts.push(name, ...rows.map(({ row }) => row))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

/** Every key of a Redis with its value. */
export async function dumpRedis(url: string): Promise<string> {
  const redis = new Redis(url)
  try {
    const lines: string[] = []
    for (const key of await redis.keys('*')) {
      const isHash = (await redis.type(key)) === 'hash'
      lines.push(key, isHash ? JSON.stringify(await redis.hgetall(key)) : ((await redis.get(key)) ?? ''))
    }
    return lines.join('\n')
  } finally {
    redis.disconnect()
  }
}

/** The texts that reveal a secret at any offset in a longer base64-encoded value. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    // The characters at both ends depend on what surrounds the secret.
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const text = padded.toString('base64').slice(Math.ceil((offset * 4) / 3), Math.floor((padded.length * 8) / 6))
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** The encodings in which a store might reveal a secret. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const escaped = JSON.stringify(secret).slice(1, -1)
  const all = [secret, escaped, encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64Forms(bytes)]
  return [...new Set(all)]
}
