// engine: none
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type JWKS } from 'oidc-provider'
import t from 'tap'
import { applyPatches } from '../../../../src/features/oauth/protocol/patches/apply-patches.ts'
import { patch, patchesOf } from '../../../../src/features/oauth/protocol/patches/patch.ts'
import { memoryAdapter } from '../../../support/memory-adapter.ts'

const url = 'http://localhost:8000'
const config = { app: { url, secret: ['a-secret-of-at-least-32-characters'] }, scopes: {}, apis: {}, oauth: {} }
const parts = {
  config,
  cookies: {},
  cookieRecords: {},
  registry: {},
  keysMaxAge: 0,
  introspectionOf: () => ({}),
} as never

const { privateKey } = await generateKeyPair('ES256', { extractable: true })
const jwks = { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }] } as JWKS
const build = () =>
  new Provider(url, {
    adapter: memoryAdapter(),
    jwks,
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['key'] },
  })

/** Every change to oidc-provider. Add one only if the library offers no option or event for it. */
const expected = [
  'context.cookies',
  'Session.IN_PAYLOAD',
  'Session.prototype.save',
  'Grant.IN_PAYLOAD',
  'Grant.prototype.save',
  'AuthorizationCode.find',
  'RefreshToken.find',
  'Session.prototype.ensureClientContainer',
  'Session.get',
  'Session.prototype.persist',
  'Interaction.IN_PAYLOAD',
  'Interaction.prototype.save',
  'Interaction.find',
  'OIDCContext.prototype.amr',
  'OIDCContext.prototype.acr',
  'answer.forms',
  'Client.prototype.backchannelLogout',
  'Session.prototype.destroy',
  'answer.client-logout',
  'answer.confirmed-logout',
  'answer.guest-logout',
  'AccessToken.find',
  'ClientCredentials.find',
  'AccessToken.prototype.destroy',
  'ClientCredentials.prototype.destroy',
  'OIDCContext.prototype.entity',
  'RefreshToken.find',
  'RefreshToken.prototype.generateTokenId',
  'ReplayDetection.unique',
  'AuthorizationCode.find',
  'DeviceCode.find',
  'RefreshToken.find',
  'AuthorizationCode.prototype.consume',
  'DeviceCode.prototype.consume',
  'RefreshToken.prototype.consume',
  'IdToken.prototype.issue',
  'OIDCContext.prototype.entity',
  'PushedAuthorizationRequest.find',
  'answer.device-flow',
  'DeviceCode.prototype.remainingTTL',
  'DeviceCode.findByUserCode',
  'answer.documents',
  'Client.prototype.grantTypeAllowed',
  'answer.failures',
  'answer.introspection',
  'Client.prototype.compareClientSecret',
  'Client.find',
  'answer.clearer-errors',
  'answer.client-failures',
  'Client.find',
]

t.test('changes exactly the listed methods, getters and answers of oidc-provider', async (t) => {
  const provider = build()
  applyPatches(provider, parts)
  const applied = patchesOf(provider)
  for (const { target, name, why } of applied) t.comment(`${target}.${name}: ${why}`)
  t.same(
    applied.map(({ target, name }) => `${target}.${name}`),
    expected,
  )
  t.same(
    applied.filter(({ why }) => why.length < 10),
    [],
    'every change has a reason',
  )
})

t.test('refuses to start if oidc-provider lacks a method or getter that svc replaces', async (t) => {
  const provider = build()
  applyPatches(provider, parts)
  const changed = new Map(patchesOf(provider).map(({ target, name }) => [`${target}.${name}`, { target, name }]))
  for (const { target, name } of changed.values()) {
    if (target === 'answer') continue
    const older = build()
    const owner = target.split('.').reduce<object>((place, step) => Reflect.get(place, step), older)
    Object.defineProperty(owner, name, { value: undefined })
    t.throws(() => applyPatches(older, parts), { message: `oidc-provider has no ${target}.${name}, which` }, name)
  }
  const none = build()
  t.throws(() => patch(none, ['Nothing.prototype', 'find'], 'a class that is gone', (find) => find), /no Nothing\.prot/)
  t.same(patchesOf(none), [])
})
