// engine: none
import t from 'tap'
import { Authenticator } from '../../support/authenticator.ts'
import { Device } from '../../support/device.ts'
import { buildPasskeyApp, refusal, signedIn, texts, withPasskey } from './visitor.ts'

const fingerprint = (byte: string) => Array(32).fill(byte).join(':')
const originOf = (byte: string) => `android:apk-key-hash:${Buffer.from(byte.repeat(32), 'hex').toString('base64url')}`
const android = [
  { package: 'com.example.app', sha256_cert_fingerprints: [fingerprint('ab'), fingerprint('FB')] },
  { package: 'com.example.beta', sha256_cert_fingerprints: [fingerprint('01')] },
]

t.test('accepts passkeys from the certificates of listed Android apps only', async (t) => {
  const svc = await buildPasskeyApp(t, { mobile_apps: { android } })
  t.equal(originOf('fb'), 'android:apk-key-hash:-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s', 'in base64url')
  const { authenticator } = await withPasskey(svc, new Authenticator())
  const device = new Device(svc)
  for (const byte of ['ab', 'fb', '01']) {
    t.equal((await device.passkey(authenticator, { origin: originOf(byte) })).statusCode, 200, byte)
    const { visitor } = await signedIn(svc)
    t.equal((await visitor.register(new Authenticator(), { origin: originOf(byte) })).statusCode, 200, byte)
  }
  t.equal((await device.passkey(authenticator)).statusCode, 200, 'the front end remains')
  for (const origin of [
    originOf('ac'),
    originOf('ab').replace('android:apk-key-hash:', 'android:apk-key-hash-sha256:'),
    `${originOf('ab')}=`,
    originOf('01').toLowerCase(),
    `android:apk-key-hash:${fingerprint('AB')}`,
    'https://localhost',
    'https://com.example.app',
  ]) {
    t.strictSame((await device.passkey(authenticator, { origin })).json(), refusal(texts.refused), origin)
    const { visitor } = await signedIn(svc)
    const answer = await visitor.register(new Authenticator(), { origin })
    t.strictSame(answer.json(), refusal(texts.notRegistered), origin)
  }
})

t.test('accepts passkeys of iOS apps, whose origin is the domain of the passkey', async (t) => {
  const settings = { passkeys: { rp_id: 'localhost' } }
  const without = await buildPasskeyApp(t, settings)
  const { authenticator } = await withPasskey(without, new Authenticator())
  const origin = 'https://localhost'
  const refused = await new Device(without).passkey(authenticator, { origin })
  t.strictSame(refused.json(), refusal(texts.refused))

  const svc = await buildPasskeyApp(t, { ...settings, mobile_apps: { ios: ['ABCDE12345.com.example.app'] } })
  const own = await withPasskey(svc, new Authenticator())
  t.equal((await new Device(svc).passkey(own.authenticator, { origin })).statusCode, 200)
  for (const wrong of ['https://localhost:8443', 'http://localhost', 'https://evil.localhost'])
    t.equal((await new Device(svc).passkey(own.authenticator, { origin: wrong })).statusCode, 422, wrong)
})

t.test('logs the key to change if a page or an app may not use passkeys', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { authenticator, guest } = await withPasskey(svc, new Authenticator())
  const cases = [
    [
      'http://localhost:3000',
      'passkeys.origins',
      /a page at http:\/\/localhost:3000, which passkeys\.origins does not list$/,
    ],
    [originOf('ac'), 'mobile_apps.android', /a certificate that mobile_apps\.android does not list$/],
    ['not an origin\n', 'passkeys.origins', /comes from an invalid origin/],
  ] as const
  for (const [origin, config_key, reason] of cases) {
    const logged = svc.logs.length
    t.strictSame((await guest.login(authenticator, { origin })).json(), refusal(texts.refused), origin)
    const lines = svc.logs.slice(logged).map((line) => JSON.parse(line))
    t.match(
      lines.filter(({ config_key: key }) => key),
      [{ level: 'warn', config_key, reason, msg: /^passkey rejected: .*; see / }],
      origin,
    )
  }
})
