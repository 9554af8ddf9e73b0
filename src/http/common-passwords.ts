import { createRequire } from 'node:module'

let list: string | undefined

/**
 * Whether a password is one of the tens of thousands that leak most often, whatever its case.
 * The list is loaded by the first question and kept as one text, which takes a tenth of a set's memory.
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
