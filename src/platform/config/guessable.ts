import type { PublishedSecrets } from './published-secrets.ts'

/** Placeholder words. They have at least four letters, so that random text rarely consists of them. */
const placeholders =
  /change[-_ ]?me|changethis|replace|secret|password|passwd|passphrase|example|sample|placeholder|default|insecure|unsecure|insert|todo|fixme|dummy|test(ing|s)?|demo|development|production|staging|local(host)?|client|server|session|cookie|token|signing|encryption|private|random(ly)?|generated?|string|value|something|anything|strong|secure|super|very|long|your|here|this|that|with|more|than|least|must|should|please|need|real(ly)?|bytes?|bits?|char(acter)?s?|thirty|twelve|sixteen|minimum|another|first|second|application|service|keyboard|qwerty|qwertz|azerty|asdf(gh(jkl?)?)?|zxcv(bnm?)?|letmein|welcome|hello|world|admin(istrator)?|root|user|login|foobar|lorem|ipsum|dolor|correct|horse|battery|staple|trying|things|django/gi

/** Short placeholder words, matched only between other characters than letters and digits. */
const fillers =
  /(?<![a-z\d])(the|a|an|of|is|it|its|my|our|me|to|be|at|in|on|or|and|for|not|do|use|dev|prod|app|api|jwt|key|svc|foo|bar|baz|qux|abc|xyz|out|too|also|was|which|very|some|any|two|one|who|\d{1,4})(?![a-z\d])/gi

/** Minimum length of a secret without its placeholder words. */
const leastLeft = 16

/** Alphabets of secrets and their sizes, smallest first. */
const alphabets: readonly (readonly [RegExp, number])[] = [
  [/^\d*$/, 10],
  [/^[\da-f]*$/, 16],
  [/^[\dA-F]*$/, 16],
  [/^[a-z]*$/, 26],
  [/^[A-Z]*$/, 26],
  [/^[\da-z]*$/, 36],
  [/^[\dA-Z]*$/, 36],
  [/^[\da-z-_. ]*$/i, 64],
]

const printable = 95

/** Only the first characters are examined: the search for repetitions is quadratic. */
const maxLength = 256

/** Counts the characters that neither repeat earlier text nor continue a run such as aaa, 123 or cba. */
function newCharacters(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; count++) {
    let end = i
    while (end < text.length && text.slice(0, end).includes(text.slice(i, end + 1))) end++
    // A repetition of three or more characters counts as one choice.
    i = end - i >= 3 ? end : i + 1
    const step = text.charCodeAt(i - 1) - text.charCodeAt(i - 2)
    if (Math.abs(step) <= 1) while (i < text.length && text.charCodeAt(i) - text.charCodeAt(i - 1) === step) i++
  }
  return count
}

/** Estimates the entropy of a secret in bits. Repetitions and runs add almost nothing. */
export function entropyOf(secret: string): number {
  const size = alphabets.find(([pattern]) => pattern.test(secret))?.[1] ?? printable
  return newCharacters(secret.slice(0, maxLength)) * Math.log2(size)
}

const isPlaceholder = (secret: string): boolean =>
  secret
    .replace(placeholders, ' ')
    .replace(fillers, ' ')
    .replace(/[^a-z\d]/gi, '').length < leastLeft && secret.search(placeholders) >= 0

/** Returns why a secret is guessable, to complete the message "must be random, but this one …", or null. */
export function weaknessOf(secret: string, leastBits: number, published: PublishedSecrets): string | null {
  if (published.has(secret)) return 'is in a published list of secrets'
  if (isPlaceholder(secret)) return 'consists of placeholder words'
  return entropyOf(secret) < leastBits ? 'repeats characters or is too short' : null
}
