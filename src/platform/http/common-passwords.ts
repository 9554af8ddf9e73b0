import { createRequire } from 'node:module'

let list: string | undefined

/**
 * Tests for one of the most common leaked passwords, ignoring case. The list loads on first use, as one text, which
 * takes a tenth of the memory of a Set.
 */
export function isCommonPassword(password: string): boolean {
  if (list === undefined) {
    const { dictionary }: typeof import('@zxcvbn-ts/language-common') = createRequire(import.meta.url)(
      '@zxcvbn-ts/language-common',
    )
    list = `\n${dictionary['passwords-common'].join('\n')}\n`
  }
  const wanted = password.toLowerCase()
  return !wanted.includes('\n') && list.includes(`\n${wanted}\n`)
}
