// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { day, hour, minute, second } from '../../../support/clock.ts'
import { githubClaims, kubernetesClaims, Platform } from '../../../support/platform.ts'
import { temporaryDirectory } from '../../../support/process.ts'
import { travel } from '../../../support/time.ts'
import { ask, outcome, start } from './jobs.ts'

t.test('knows the habits of each platform', async (t) => {
  await t.test('GitHub Actions makes a new token each time, so each works once', async (t) => {
    const platform = await Platform.start(t)
    const github = { platform: 'github', issuer: platform.url, subject: 'repo:acme/*:ref:refs/heads/main' }
    const svc = await start(t, [github])
    const token = await platform.token(githubClaims())
    const [one, two] = await Promise.all([ask(svc, token), ask(svc, token)])
    t.same([one.statusCode, two.statusCode].sort(), [200, 401])
    t.match(await outcome(svc, token), /it was used before/)
    t.equal(await outcome(svc, await platform.token(githubClaims())), 200)
  })
  await t.test('Kubernetes reads its keys with a token and the authority of the cluster', async (t) => {
    const platform = await Platform.start(t)
    const token_file = join(temporaryDirectory(t), 'token')
    writeFileSync(token_file, 'token-of-svc\n')
    const jwks_uri = `${platform.url}/openid/v1/jwks`
    platform.instead.set('/openid/v1/jwks', { keys: platform.keys.map(({ jwk }) => jwk) })
    const kubernetes = { platform: 'kubernetes', jwks_uri, token_file, subject: 'system:serviceaccount:prod:*' }
    const svc = await start(t, [kubernetes])
    const iss = 'https://kubernetes.default.svc.cluster.local'
    const token = await platform.token(kubernetesClaims({ iss }))
    t.equal(await outcome(svc, token), 200)
    t.equal(await outcome(svc, token), 200)
    t.same(platform.calls, [{ path: '/openid/v1/jwks', authorization: 'Bearer token-of-svc' }])
    const other = await platform.token(kubernetesClaims({ iss, sub: 'system:serviceaccount:dev:deployer' }))
    t.match(await outcome(svc, other), /sub is "system:serviceaccount:dev/)
  })
  await t.test('sends the token of the cluster to no host that only a discovery document names', async (t) => {
    const [platform, elsewhere] = [await Platform.start(t), await Platform.start(t)]
    const token_file = join(temporaryDirectory(t), 'token')
    writeFileSync(token_file, 'token-of-svc')
    platform.instead.set('/.well-known/openid-configuration', {
      issuer: platform.url,
      jwks_uri: `${elsewhere.url}/jwks`,
    })
    elsewhere.keys = platform.keys
    const svc = await start(t, [
      { platform: 'kubernetes', issuer: platform.url, token_file, subject: 'system:serviceaccount:prod:*' },
    ])
    t.equal(await outcome(svc, await platform.token(kubernetesClaims())), 200)
    t.match(platform.calls, [{ authorization: 'Bearer token-of-svc' }])
    t.same(elsewhere.calls, [{ path: '/jwks', authorization: undefined }])
  })
  await t.test('Azure returns a token for up to a day', async (t) => {
    const platform = await Platform.start(t)
    const sub = '3c1f2d4e-0000-4000-8000-123456789abc'
    const azure = { platform: 'azure', issuer: platform.url, subject: sub, audience: 'api://svc' }
    const svc = await start(t, [azure])
    const claims = { aud: 'api://svc', sub, oid: sub, tid: 'a-tenant', ver: '2.0', idtyp: 'app' }
    const token = await platform.token({ ...claims, exp: Math.floor((Date.now() + day) / 1000) })
    travel(svc, 23 * hour)
    t.equal(await outcome(svc, token), 200)
  })
  await t.test('SPIFFE names the trust domain in the subject, and marks its keys', async (t) => {
    const platform = await Platform.start(t, 'ES256')
    const [key] = platform.keys
    const bundle = {
      spiffe_sequence: 12,
      spiffe_refresh_hint: 300,
      keys: [
        { ...key?.jwk, use: 'jwt-svid' },
        { ...key?.jwk, kid: undefined, use: 'x509-svid', x5c: ['MIIB'] },
      ],
    }
    platform.instead.set('/bundle', bundle)
    const spiffe = { platform: 'spiffe', jwks_uri: `${platform.url}/bundle`, subject: 'spiffe://acme.example/prod/*' }
    const svc = await start(t, [spiffe])
    const svid = (more: object = {}) =>
      platform.token({ iss: undefined, sub: 'spiffe://acme.example/prod/api', ...more })
    t.equal(await outcome(svc, await svid()), 200)
    t.equal(await outcome(svc, await svid({ iat: undefined })), 200, 'without a time of issue')
    t.match(await outcome(svc, await svid({ sub: 'spiffe://evil.example/prod/api' })), /its issuer is missing/)
    t.match(await outcome(svc, await svid({ sub: 'spiffe://acme.example/prod/api/x' })), /sub is/)
    t.match(
      await outcome(svc, await svid({ iat: undefined, exp: Math.floor((Date.now() + day) / 1000) })),
      /older than/,
    )
  })
})

t.test('keeps keys while an issuer is down, and reads new ones', async (t) => {
  const platform = await Platform.start(t)
  const svc = await start(t, [{ issuer: platform.url, subject: 'job:1' }])
  const [first] = platform.keys
  for (let count = 0; count < 3; count++) t.equal(await outcome(svc, await platform.token()), 200)
  t.equal(platform.callsTo('/jwks'), 1, 'keys are cached')
  travel(svc, 11 * second)
  await platform.addKey('second', 'ES256')
  t.equal(await outcome(svc, await platform.token()), 200, 'a new key works at once')
  for (let count = 0; count < 5; count++) {
    t.match(await outcome(svc, await platform.token({}, { kid: `invented${count}` })), /no such key/)
  }
  t.equal(platform.callsTo('/jwks'), 2, 'invented keys cause no requests for ten seconds')
  platform.status = 503
  travel(svc, hour)
  t.equal(await outcome(svc, await platform.token()), 200, 'while the issuer is down')
  travel(svc, day)
  t.match(await outcome(svc, await platform.token()), /its keys could not be read: http.*answers with status 503/)
  platform.status = 200
  platform.keys = platform.keys.filter((key) => key !== first)
  travel(svc, minute)
  t.equal(await outcome(svc, await platform.token()), 200)
  t.match(await outcome(svc, await platform.token({}, {}, first)), /no such key/, 'a withdrawn key')
})

t.test('reads keys only from the issuer, and from public addresses', async (t) => {
  const platform = await Platform.start(t)
  const federated = [{ issuer: platform.url, subject: 'job:1' }]
  const strict = await start(t, federated, { allow_private_addresses: false })
  t.match(await outcome(strict, await platform.token()), /127\.0\.0\.1 is not a public address/)
  t.equal(platform.calls.length, 0)
  platform.instead.set('/.well-known/openid-configuration', {
    issuer: 'https://other.example',
    jwks_uri: `${platform.url}/jwks`,
  })
  const svc = await start(t, federated)
  t.match(await outcome(svc, await platform.token()), /is the document of another issuer/)
  const bodies: unknown[] = [{}, [], { issuer: platform.url }, { issuer: platform.url, jwks_uri: 7 }]
  for (const body of bodies) {
    platform.instead.set('/.well-known/openid-configuration', body)
    travel(svc, minute)
    t.match(await outcome(svc, await platform.token()), /its keys could not be read/, JSON.stringify(body))
  }
  platform.instead.delete('/.well-known/openid-configuration')
  platform.instead.set('/jwks', { keys: Array(101).fill(platform.keys[0]?.jwk) })
  travel(svc, minute)
  t.match(await outcome(svc, await platform.token()), /at most 100 keys/)
})
