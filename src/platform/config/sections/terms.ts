import { nullable, section, text } from './kinds.ts'

/** What users must accept. */
export const termsSections = {
  terms: section(
    'Terms of service that users must accept when they register, and again when the version changes. Until then, their sessions reach only the account pages and sign-out, and apps get no new tokens by sign-in. Existing tokens stay valid.',
    {
      version: nullable(
        text({
          pattern: '^[\\x21-\\x7E]{1,50}$',
          expected: 'up to 50 printable ASCII characters without spaces',
          example: '2026-11',
          description: 'The current version. A new one asks all users again. null: nothing to accept.',
        }),
      ),
      url: nullable(
        text({
          format: 'web-url',
          example: 'https://example.com/terms',
          description: 'The page with the terms.',
        }),
      ),
    },
  ),
}
