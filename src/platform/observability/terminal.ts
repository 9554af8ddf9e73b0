/** Characters that a terminal may interpret: C0 and C1 controls, line separators and invisible format characters. */
const interpreted = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Matches almost every log line, and is faster than `interpreted`. */
const plain = /^[\n\t -~]*$/

const escaped = (character: string): string =>
  character === '\n' || character === '\t'
    ? character
    : Array.from(
        { length: character.length },
        (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
      ).join('')

/** Escapes characters that a terminal would interpret, except line breaks and tabs. JSON keeps its meaning. */
export const forTerminal = (text: string): string => (plain.test(text) ? text : text.replace(interpreted, escaped))
