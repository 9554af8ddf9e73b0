import { isDeepStrictEqual } from 'node:util'
import { childSchema, isMapping, type Schema } from './walk.ts'

/** Keys that are validated but do nothing yet; whoever builds the feature deletes its lines. */
const NOT_BUILT = [
  'app.frontend_url',
  'redis.url',
  'registration.enabled',
  'registration.require_verified_email',
  'passwords.min_length',
  'passwords.max_length',
  'passwords.block_common',
  'passwords.confirm_timeout',
  'passwords.reset_expires',
  'passwords.reset_throttle',
  'passwords.reveal_unknown_email',
  'passwords.reset_revokes_tokens',
  'two_factor.enabled',
  'two_factor.window',
  'two_factor.confirm_password',
  'passkeys.enabled',
  'passkeys.rp_id',
  'passkeys.origins',
  'passkeys.user_verification',
  'passkeys.confirm_password',
  'mail.url',
  'mail.from',
  'links.verify',
  'links.reset',
  'links.login',
  'links.two_factor',
  'links.after_verify',
  'templates.mail',
  'templates.pages',
  'theme.logo',
  'theme.colors',
  'theme.texts',
  'scopes',
  'clients',
  'oauth.access_token_ttl',
  'oauth.refresh_token_ttl',
  'oauth.authorization_code_ttl',
  'oauth.device_code_ttl',
  'oauth.personal_access_token_ttl',
  'oauth.refresh_grace',
  'oauth.access_token_alg',
  'oauth.audience',
  'oauth.key_rotation',
  'social',
  'rate_limits.two_factor',
  'rate_limits.register',
  'rate_limits.mail',
  'rate_limits.token',
  'outbound.allow_private',
  'metrics.port',
  'webhooks',
]

/** One warning for each key that is set to something other than its default and that nothing uses yet. */
export function notBuiltWarnings(given: unknown, schema: Schema): string[] {
  return NOT_BUILT.filter((key) => {
    const steps = key.split('.')
    const value = steps.reduce<unknown>((part, step) => (isMapping(part) ? part[step] : undefined), given)
    const keySchema = steps.reduce<Schema | undefined>((part, step) => part && childSchema(part, step), schema)
    return value !== undefined && !isDeepStrictEqual(value, keySchema?.default)
  }).map((key) => `${key} is set, but this version does not use it yet`)
}
