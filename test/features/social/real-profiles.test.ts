// engine: none
import t from 'tap'
import { type Claims, profileOf } from '../../../src/features/social/providers/profile.ts'
import { findProvider } from '../../../src/features/social/providers/provider.ts'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { type Settings, testConfig } from '../../support/app.ts'

/** The claims that each provider documents, or sends according to reports. */
const real = {
  google: {
    ...{ iss: 'https://accounts.google.com', azp: 'x.apps.googleusercontent.com', sub: '110169484474386276334' },
    ...{ hd: 'example.com', email: 'ada@example.com', email_verified: true, name: 'Ada Example', given_name: 'Ada' },
  },
  microsoft: {
    ...{ iss: 'https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0', ver: '2.0' },
    ...{ sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', oid: '00000000-0000-0000-66f3-3332eca7ea81' },
    ...{ tid: '9122040d-6c67-4c5b-b112-36a304b66dad', preferred_username: 'ada@example.com', name: 'Ada Example' },
    ...{ email: 'ada@example.com' },
  },
  apple: {
    ...{ iss: 'https://appleid.apple.com', sub: '001234.abcdef.0123', nonce_supported: true, auth_time: 1 },
    ...{ email: 'dpdcnf87nu@privaterelay.appleid.com', email_verified: 'true', is_private_email: 'true' },
  },
  gitlab: {
    ...{ iss: 'https://gitlab.com', sub: '1234', sub_legacy: 'f3a1', groups_direct: ['acme'], auth_time: 1 },
    ...{ email: 'ada@example.com', email_verified: true },
  },
  linkedin: {
    ...{ iss: 'https://www.linkedin.com/oauth', sub: '782bbtaQ', name: 'Ada Example', given_name: 'Ada' },
    ...{ email: 'ada@example.com', email_verified: 'true', locale: 'en_US' },
  },
  slack: {
    ...{ iss: 'https://slack.com', sub: 'U0R7JM', 'https://slack.com/team_id': 'T0R7GR' },
    ...{ 'https://slack.com/user_id': 'U0R7JM', email: 'ada@example.com', email_verified: true, name: 'ada' },
    ...{ date_email_verified: 1_622_128_723 },
  },
  facebook: {
    ...{ id: '10150000000000000', name: 'Ada Example', email: 'ada@example.com' },
    ...{ picture: { data: { height: 50, is_silhouette: false, url: 'https://platform-lookaside.fbsbx.com/x' } } },
  },
  x: {
    data: {
      id: '2244994945',
      name: 'Ada Example',
      username: 'ada',
      verified: true,
      confirmed_email: 'ada@example.com',
    },
  },
  discord: {
    ...{ id: '80351110224678912', username: 'ada', discriminator: '0', global_name: null, verified: true },
    ...{ email: 'ada@example.com', mfa_enabled: true, avatar: '8342729096ea3675442027381ff50dfe' },
  },
} satisfies Record<string, Claims>

const tenant = '9122040d-6c67-4c5b-b112-36a304b66dad'
const own: Record<string, Settings> = {
  microsoft: { tenant },
  apple: { team_id: 'T', key_id: 'K', private_key: 'x', client_secret: undefined },
}

/** The profile of a preset with additional settings. */
function read(id: keyof typeof real, more: Settings = {}, claims: Claims = {}) {
  const given = { client_id: 'x', client_secret: 'y', ...own[id], ...more }
  const provider = findProvider(testConfig({ social: { [id]: given } }).current(), id)
  if (!provider) throw new Error(id)
  const { email, emailProblem, providerId, name } = profileOf(provider, { ...real[id], ...claims })
  return { verified: email?.verified ?? null, emailProblem, providerId, name }
}

t.test('reads what the providers really send', async (t) => {
  const verified = { verified: true, emailProblem: null }
  t.match(read('google'), { ...verified, providerId: '110169484474386276334', name: 'Ada Example' })
  t.match(read('apple'), { ...verified, name: null })
  t.match(read('gitlab'), { ...verified, name: null })
  t.match(read('linkedin'), verified, 'a flag as text')
  t.match(read('slack'), { ...verified, providerId: 'T0R7GR/U0R7JM' }, 'ids are unique within a workspace only')
  t.match(read('discord', { trust_email: true }), { ...verified, name: null })
  t.match(read('x', { trust_email: true }), verified, 'X sends confirmed addresses only')
  t.match(read('x'), { verified: false, emailProblem: 'trust_email is off' })
  t.match(read('facebook'), { verified: false, emailProblem: 'trust_email is off' })
  t.throws(() => read('slack', {}, { 'https://slack.com/team_id': undefined }), { message: /no usable id/ })
})

t.test('trusts addresses of a Microsoft tenant only by an explicit key or claim', async (t) => {
  const missing = { verified: false, emailProblem: 'the claim email_verified is missing' }
  t.match(read('microsoft', { trust_email: true }), missing, 'Entra ID never sends the claim')
  t.match(read('microsoft', { trust_email: 'without_claim' }), { verified: true, emailProblem: null })
  const map = { email_verified: 'xms_edov' }
  for (const xms_edov of [true, 'true', 1, '1'])
    t.match(read('microsoft', { trust_email: true, map }, { xms_edov }), { verified: true }, JSON.stringify(xms_edov))
  for (const xms_edov of [false, 'false', 0, '0', 'yes', [], {}]) {
    const found = read('microsoft', { trust_email: true, map }, { xms_edov })
    t.match(found, { verified: false, emailProblem: 'xms_edov is not true' }, JSON.stringify(xms_edov))
  }
  const refused = read('microsoft', { trust_email: 'without_claim' }, { email_verified: false })
  t.match(refused, { verified: false, emailProblem: 'email_verified is not true' }, 'a false claim counts')
})

t.test('names the problem of an address', async (t) => {
  for (const email of [undefined, null, ''])
    t.match(read('google', {}, { email }), { verified: null, emailProblem: 'the claim email is missing' })
  t.match(read('google', {}, { email: 'ada' }), { verified: null, emailProblem: 'email is no email address' })
  t.match(read('google', {}, { email_verified: false }), { emailProblem: 'email_verified is not true' })
  t.match(read('google', {}, { email_verified: null }), { emailProblem: 'the claim email_verified is missing' })
})

t.test('refuses trust where anyone can join', async (t) => {
  const errorsOf = (id: string, given: Settings): string => {
    const social = { [id]: { client_id: 'x', client_secret: 'y', ...given } }
    try {
      parseConfig({ text: JSON.stringify({ social }), file: 'svc.yaml', env: {}, cwd: '/' })
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const refusal = /must not be without_claim for a provider that anyone can join/
  for (const id of ['google', 'linkedin', 'slack', 'github', 'bitbucket', 'x', 'discord'])
    t.match(errorsOf(id, { trust_email: 'without_claim' }), refusal, id)
  for (const name of ['common', 'organizations', 'consumers'])
    t.match(errorsOf('microsoft', { tenant: name, trust_email: 'without_claim' }), refusal, name)
  t.equal(errorsOf('microsoft', { tenant, trust_email: 'without_claim' }), '')
  t.equal(errorsOf('acme', { issuer: 'https://login.acme.example', trust_email: 'without_claim' }), '')
  t.match(errorsOf('facebook', { trust_email: true }), /facebook, which does not say whether an address is verified/)
  t.match(errorsOf('google', { trust_email: 'always' }), /true, false or without_claim/)
})
