/** Spaces besides the ASCII one (general category Zs). */
const otherSpaces = /[^\P{Zs} ]/gu

/**
 * Returns the canonical form of a password (RFC 8265 section 4.2, OpaqueString): NFC, with plain spaces. Keyboards and
 * systems compose letters such as é in different ways.
 */
export const canonicalPassword = (password: string): string => password.replaceAll(otherSpaces, ' ').normalize('NFC')

/**
 * Returns the forms in which a stored hash may have this password: the canonical one, then those that other servers may
 * have hashed. Depends on the password only, so that the work is the same for every account.
 */
export function formsOf(password: string): [canonical: string, ...others: string[]] {
  const canonical = canonicalPassword(password)
  const others = [password, canonical.normalize('NFD'), canonical.normalize('NFKC')].filter(
    (form) => form !== canonical,
  )
  return [canonical, ...new Set(others)]
}
