/**
 * Returns a typed or pasted code with ASCII digits and without invisible marks. Arabic, Persian and Japanese keyboards type
 * other digits, and mails in right-to-left languages have direction marks around a code.
 */
export const typedCode = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replaceAll(/\p{Cf}/gu, '')
