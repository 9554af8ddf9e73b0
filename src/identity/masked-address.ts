/** Masks an address so that its owner recognises it: `a…@example.com`. */
export function maskedAddress(email: string): string {
  const at = email.lastIndexOf('@')
  return `${[...email.slice(0, at)][0] ?? ''}…${email.slice(at)}`
}
