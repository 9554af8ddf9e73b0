import { readFileSync } from 'node:fs'
import { CommandError } from '../../../contract/command.ts'
import { laravelKey } from './encrypter.ts'

/** Values of `APP_KEY` and `APP_PREVIOUS_KEYS` in Laravel's .env file. */
const assignment = /^(?:export\s+)?APP_(?:KEY|PREVIOUS_KEYS)\s*=\s*(["']?)(.*?)\1\s*$/gm

/** Reads keys from a file: Laravel's .env file, or a file with only the keys. */
export function readKeyFile(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    throw new CommandError(`The file of --app-key-file cannot be read (${code}).`)
  }
  const values = [...text.matchAll(assignment)].map(([, , value = '']) => value)
  return values.length > 0 ? values.join(',') : text
}

/** Parses keys that are separated by commas or white space. Throws a CommandError without repeating them. */
export function parseKeys(text: string): Buffer[] {
  const keys = text.split(/[\s,]+/).filter((part) => part !== '')
  return keys.map((key) => {
    const bytes = laravelKey(key)
    if (bytes) return bytes
    throw new CommandError(
      'An application key is invalid; expected APP_KEY of Laravel, such as base64:…, with 16 or 32 bytes.',
    )
  })
}
