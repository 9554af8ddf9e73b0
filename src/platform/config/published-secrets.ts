import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'

/**
 * Secrets that are published in documentation, tutorials and default configurations. Secrets made of placeholder words
 * ("changeme", "your-secret-here") are detected without this list.
 */
const copied = [
  // svc's own README and documentation.
  'a-secret-for-trying-things-out',
  'correct-horse-battery-staple',
  'correct horse battery staple',
  // JSON Web Token tutorials and jwt.io.
  'a-string-secret-at-least-256-bits-long',
  'your-256-bit-secret',
  'your-384-bit-secret',
  'your-512-bit-secret',
  '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
  '404D635166546A576E5A7234753778214125442A472D4B6150645267556B5870',
  '5367566B59703373367639792F423F4528482B4D6251655468576D5A71347437',
  '586E3272357538782F413F4428472B4B6250645367566B597033733676397924',
  '655368566D597133743677397A24432646294A404E635266556A576E5A723475',
  '34743777217A25432A462D4A614E645267556B58703273357638792F413F4428',
  '3cfa76ef14937c1c0ea519f8fc057a80fcd04a7420f8e8bcd0a7567c272e007b',
  // RFC 6749, 7515, 7517 and 7520.
  '7Fjfp0ZBr1KtDRbnfVdmIw',
  'gX1fBat3bV',
  'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcfuUwTwjAZr1Z9CAow',
  'hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg',
  // Symfony, Laravel, Express, Flask, ASP.NET and Yii examples.
  'ThisTokenIsNotSoSecretChangeIt',
  'SomeRandomString',
  'SomeRandomStringWith32Characters',
  'keyboard cat',
  '_5#y2L"F4Q8z\\n\\xec]/',
  'ThisIsMySecretKeyForTheJwtTokenAuthentication',
  // Supabase, Superset, Airflow, Hydra, Authelia, Nacos, Shiro, Grafana, Directus, Strapi, Harbor, Dify.
  'your-super-secret-jwt-token-with-at-least-32-characters-long',
  'super-secret-jwt-token-with-at-least-32-characters-long',
  'CHANGE_ME_TO_A_COMPLEX_RANDOM_SECRET',
  'USE_YOUR_OWN_SECURE_RANDOM_KEY',
  'YOUR_OWN_RANDOM_GENERATED_SECRET_KEY',
  'thisISaSECRET_1234',
  'temporary_key',
  'this-needs-to-be-the-same-always-and-also-very-$3cuR3-._',
  'youReallyNeedToChangeThis',
  'insecure_session_secret',
  'SecretKey012345678901234567890123456789012345678901234567890123456789',
  'kPH+bIxk5D2deZiIxcaaaA==',
  'SW2YcwTIb9zpOOhoPsMm',
  '255d861b-5ea1-5996-9aa3-922530ec40b1',
  'tobemodified',
  'toBeModified1',
  'not-a-secure-key',
  'sk-9f73s3ljTXVcMT3Blb3ljTqtsKiGHXVcMT3BlbkFJLK7U',
]

/** The most common leaked passwords, tens of thousands; all are shorter than 32 characters. */
function leakedPasswords(): string[] {
  const { dictionary }: typeof import('@zxcvbn-ts/language-common') = createRequire(import.meta.url)(
    '@zxcvbn-ts/language-common',
  )
  return dictionary['passwords-common'].map(String)
}

const lower = new Set(copied.map((text) => text.toLowerCase()))

/** Published secrets to compare with. Create it for one check, because the password list is large. */
export class PublishedSecrets {
  #leaked: ReadonlySet<string> | undefined
  #hashes: ReadonlySet<string> | undefined

  /** Tests for a published secret, ignoring case. */
  has(secret: string): boolean {
    const text = secret.toLowerCase()
    if (lower.has(text)) return true
    if (text.length >= 32) return false
    this.#leaked ??= new Set(leakedPasswords())
    return this.#leaked.has(text)
  }

  /** Tests for the SHA-256 hash (hexadecimal) of a published secret. */
  hasHash(hex: string): boolean {
    const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
    this.#hashes ??= new Set([...copied, ...leakedPasswords()].map(hashOf))
    return this.#hashes.has(hex)
  }
}
