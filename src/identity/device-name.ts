/** Characters that a name keeps in a mail: without dots and slashes, mail programs see no link in it. */
const unsafe = /[^\p{L}\p{M}\p{N}\p{Emoji_Presentation} '’()+_-]+/gu

/** Maximum number of characters. */
const maxLength = 40

/** Returns the name of a device for a mail; null if nothing of it is left. An attacker who signs in can choose the name. */
export function deviceName(given: string): string | null {
  const name = given.normalize('NFC').replaceAll(unsafe, ' ').replaceAll(/ +/g, ' ').trim()
  const short = [...name].slice(0, maxLength).join('').trim()
  return /[\p{L}\p{N}]/u.test(short) ? short : null
}
