// engine: none
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { buildServer } from './parties.ts'

const root = resolve(import.meta.dirname, '../../../..')

t.test('implements every test that docs/conformity.md names', async (t) => {
  const text = readFileSync(join(root, 'docs/conformity.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !/^\| (Specification|-)/.test(line))
  t.ok(rows.length > 30)
  for (const row of rows) {
    const [, specification, , shown = ''] = row.split(/\s*\|\s*/)
    const names = [...shown.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.replace(/^oauth\//, 'features/oauth/'))
    t.ok(names.length > 0, String(specification))
    for (const name of names) {
      const isThere = name.endsWith('/*')
        ? readdirSync(join(root, 'test', name.slice(0, -2))).some((file) => file.endsWith('.test.ts'))
        : existsSync(join(root, 'test', `${name}.test.ts`))
      t.ok(isThere, `${specification}: ${name}`)
    }
  }
})

t.test('offers in discovery what docs/conformity.md says, and nothing that is off', async (t) => {
  const svc = await buildServer(t, [])
  const read = async (url: string) => (await svc.app.inject(url)).json()
  const metadata = await read('/.well-known/openid-configuration')
  t.same(await read('/.well-known/oauth-authorization-server'), metadata, 'both documents agree')
  t.match(metadata, {
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['public'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claims_parameter_supported: true,
    response_modes_supported: ['form_post', 'fragment', 'query'],
  })
  t.same(metadata.grant_types_supported.toSorted(), [
    'authorization_code',
    'client_credentials',
    'password',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:token-exchange',
  ])
  const off = `registration_endpoint frontchannel_logout_supported check_session_iframe mtls_endpoint_aliases
    tls_client_certificate_bound_access_tokens authorization_details_types_supported
    id_token_encryption_alg_values_supported request_object_signing_alg_values_supported`
  for (const name of off.split(/\s+/)) t.notOk(metadata[name], name)
  t.notOk(metadata.request_parameter_supported)
  const algorithms = Object.entries<unknown>(metadata).filter(([name]) => name.includes('_alg_values_'))
  for (const [name, values] of algorithms) t.notMatch(JSON.stringify(values), /HS\d|none/, name)
})
