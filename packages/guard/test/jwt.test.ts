// engine: none
import { createHmac } from 'node:crypto'
import { exportSPKI, importJWK, SignJWT } from 'jose'
import t from 'tap'
import { audience, fakeIssuer, firstKey, listen, newKey } from './issuer.ts'

const issuer = await fakeIssuer(t)
const guard = issuer.guard()
const authenticate = (token: string) => guard.authenticate([`Bearer ${token}`])
const seconds = () => Math.floor(issuer.clock.now / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const invalid = { status: 401, code: 'unauthenticated', headers: { 'www-authenticate': /error="invalid_token"/ } }

t.test('accepts an access token and reads its caller', async (t) => {
  const scope = 'orders:read orders:write'
  const claims = { scope, role: 'staff', email: 'ada@example.com', email_verified: true, name: 'Ada' }
  const caller = await authenticate(await issuer.token(claims))
  t.match(caller, { id: '7', kind: 'jwt', abilities: scope.split(' '), role: 'staff', name: 'Ada', isUser: true })
  t.match(caller, { email: 'ada@example.com', expiresAt: seconds() + 600, claims: { client_id: 'web' } })
  t.ok(caller.can('orders:write'))
  t.notOk(caller.can('orders:admin'))
})

t.test('reads a machine, an unverified address and the wildcard ability', async (t) => {
  const machine = await authenticate(await issuer.token({ sub: 'cron', scope: undefined }))
  t.match(machine, { id: 'cron', isUser: false, abilities: [], role: null, email: null, name: null })
  t.notOk(machine.can('orders:read'))
  const unverified = await authenticate(await issuer.token({ email: 'a@b.c', email_verified: false }))
  t.equal(unverified.email, null)
  const all = await authenticate(await issuer.token({ scope: '*' }))
  t.ok(all.can('anything'))
})

t.test('accepts each signing algorithm of svc and nothing else', async (t) => {
  const keys = await Promise.all(['RS256', 'EdDSA', 'PS256', 'ES384'].map((alg) => newKey(alg, alg)))
  const other = await fakeIssuer(t)
  other.publish(firstKey, ...keys)
  const all = other.guard()
  for (const key of keys) {
    const alg = String(key.jwk.alg)
    const verified = all.authenticate([`Bearer ${await other.token({}, { alg }, key)}`])
    if (['RS256', 'EdDSA'].includes(alg)) t.match(await verified, { id: '7' }, alg)
    else await t.rejects(verified, invalid, alg)
  }
  const pinned = other.guard({ algorithms: ['RS256'] })
  await t.rejects(pinned.authenticate([`Bearer ${await other.token()}`]), invalid, 'not one of the pinned algorithms')
})

t.test('rejects tokens without a signature', async (t) => {
  const [, payload] = (await issuer.token()).split('.')
  for (const alg of ['none', 'None', 'NONE']) {
    await t.rejects(authenticate(`${encode({ alg, typ: 'at+jwt', kid: 'first' })}.${payload}.`), invalid, alg)
    await t.rejects(authenticate(`${encode({ alg, typ: 'at+jwt', kid: 'first' })}.${payload}.AA`), invalid, alg)
  }
})

t.test('rejects an HMAC with the public key as the secret', async (t) => {
  const [, payload] = (await issuer.token()).split('.')
  const pem = await exportSPKI((await importJWK(firstKey.jwk, 'ES256', { extractable: true })) as never)
  for (const secret of [pem, pem.trim(), JSON.stringify(firstKey.jwk), String(firstKey.jwk.x)]) {
    const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'first' })}.${payload}`
    await t.rejects(
      authenticate(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`),
      invalid,
    )
  }
})

t.test('rejects a changed payload and a changed signature', async (t) => {
  const [header, payload = '', signature = ''] = (await issuer.token()).split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  await t.rejects(authenticate(`${header}.${encode({ ...claims, sub: '1' })}.${signature}`), invalid)
  const flipped = Buffer.from(signature, 'base64url').map((byte, index) => (index === 0 ? byte ^ 1 : byte))
  await t.rejects(authenticate(`${header}.${payload}.${Buffer.from(flipped).toString('base64url')}`), invalid)
})

t.test('rejects other kinds of JWT that svc signs', async (t) => {
  for (const typ of ['JWT', 'logout+jwt', 'statuslist+jwt', 'dpop+jwt', undefined]) {
    await t.rejects(authenticate(await issuer.token({}, { typ } as never)), invalid, String(typ))
  }
  t.match(await authenticate(await issuer.token({}, { typ: 'application/at+jwt' })), { id: '7' })
})

t.test('rejects tokens of other issuers and for other audiences', async (t) => {
  for (const iss of ['https://evil.example', `${issuer.url}/`, [issuer.url], undefined]) {
    await t.rejects(authenticate(await issuer.token({ iss })), invalid, `iss ${iss}`)
  }
  const others = ['https://billing.example.com', `${audience}/`, '', [], ['https://billing.example.com'], [[audience]]]
  for (const aud of [...others, { [audience]: true }, undefined]) {
    await t.rejects(authenticate(await issuer.token({ aud })), invalid, `aud ${JSON.stringify(aud)}`)
  }
  const several = await authenticate(await issuer.token({ aud: ['https://billing.example.com', audience] }))
  t.equal(several.id, '7', 'a list that includes the audience')
})

t.test('checks the times with a small tolerance', async (t) => {
  const expired = await t.rejects(authenticate(await issuer.token({ exp: seconds() - 5 })), invalid)
  t.match(expired, { headers: { 'www-authenticate': /error_description="The access token expired"/ } })
  t.match(await authenticate(await issuer.token({ exp: seconds() - 4 })), { id: '7' })
  t.match(await authenticate(await issuer.token({ nbf: seconds() + 5 })), { id: '7' })
  const wrong = [{ nbf: seconds() + 6 }, { exp: undefined }, { exp: 'never' }, { exp: null }, { iat: undefined }]
  for (const claims of wrong) await t.rejects(authenticate(await issuer.token(claims)), invalid, JSON.stringify(claims))
  const strict = issuer.guard({ clockTolerance: 0 })
  await t.rejects(strict.authenticate([`Bearer ${await issuer.token({ exp: seconds() })}`]), invalid)
})

t.test('rejects claims that do not describe a caller', async (t) => {
  const wrong = [{ sub: undefined }, { sub: '' }, { sub: 7 }, { scope: ['orders:read'] }, { scope: null }]
  for (const claims of wrong) await t.rejects(authenticate(await issuer.token(claims)), invalid, JSON.stringify(claims))
  const odd = await authenticate(
    await issuer.token({ role: ['staff'], email: ['a@b.c'], email_verified: true, name: {} }),
  )
  t.match(odd, { role: null, email: null, name: null })
  t.equal((await authenticate(await issuer.token({ email: 'a@b.c', email_verified: 'true' }))).email, null)
})

t.test('rejects a DPoP-bound token as a bearer', async (t) => {
  await t.rejects(authenticate(await issuer.token({ cnf: { jkt: 'thumbprint' } })), invalid)
})

t.test('takes keys from the issuer only, whatever the header says', async (t) => {
  const attacker = await newKey('first')
  const stolen: string[] = []
  const url = await listen(t, (request, response) => {
    stolen.push(request.url ?? '')
    response.end(JSON.stringify({ keys: [attacker.jwk] }))
  })
  const headers = [{ jku: `${url}/jku` }, { x5u: `${url}/x5u` }, { jwk: attacker.jwk }, { x5c: ['AAAA'] }]
  for (const header of headers) {
    await t.rejects(
      authenticate(await issuer.token({}, header as never, attacker)),
      invalid,
      Object.keys(header).join(),
    )
  }
  t.same(stolen, [], 'the guard did not fetch them')
  await t.rejects(authenticate(await issuer.token({}, { kid: '../../etc/passwd' })), invalid)
})

t.test('rejects critical header extensions that it does not know', async (t) => {
  const [, payload] = (await issuer.token()).split('.')
  const header = { alg: 'ES256', typ: 'at+jwt', kid: 'first', crit: ['exp'], exp: 1 }
  await t.rejects(authenticate(`${encode(header)}.${payload}.AAAA`), invalid)
  const unencoded = new SignJWT({}).setProtectedHeader({ alg: 'ES256', b64: false, crit: ['b64'] })
  await t.rejects(unencoded.sign(firstKey.privateKey))
})

t.test('is not confused by claims named like members of objects', async (t) => {
  const claims = JSON.parse(
    '{"__proto__": {"role": "admin", "abilities": ["*"]}, "constructor": {"prototype": {"x": 1}}}',
  )
  const caller = await authenticate(await issuer.token(claims))
  t.match(caller, { role: null, abilities: ['orders:read'] })
  for (const name of ['__proto__', 'constructor', 'toString', 'includes']) t.notOk(caller.can(name), name)
  t.equal(({} as { role?: string }).role, undefined)
  t.throws(() => Object.assign(caller.claims, { sub: '1' }), TypeError, 'the claims are read-only')
  t.throws(() => (caller.abilities as string[]).push('*'), TypeError)
})

t.test('answers malformed, long and repeated credentials without a look at keys', async (t) => {
  const count = issuer.requests.length
  const fresh = issuer.guard()
  const token = await issuer.token()
  const missing = {
    status: 401,
    code: 'unauthenticated',
    headers: { 'www-authenticate': /^Bearer resource_metadata="[^"]+"$/ },
  }
  for (const values of [[], ['Basic dXNlcjpwYXNz'], [`DPoP ${token}`], [''], ['bearer-token x'], [token]]) {
    await t.rejects(fresh.authenticate(values), missing, values[0] ?? 'no header')
  }
  const malformed = { status: 400, code: 'invalid_request', headers: { 'www-authenticate': /error="invalid_request"/ } }
  for (const value of ['Bearer', 'Bearer  ', 'Bearer a b', `Bearer ${token}, Bearer ${token}`]) {
    await t.rejects(fresh.authenticate([value]), malformed, value.slice(0, 20))
  }
  await t.rejects(fresh.authenticate([`Bearer ${token}`, `Bearer ${token}`]), malformed, 'twice')
  for (const long of [
    'a'.repeat(8_193),
    `${token}${'A'.repeat(10_000)}`,
    `1|${'a'.repeat(300)}`,
    '1|',
    'x|y',
    'a.b',
    'a.b.c.d',
  ]) {
    await t.rejects(fresh.authenticate([`Bearer ${long}`]), invalid, long.slice(0, 10))
  }
  t.equal(issuer.requests.length, count)
  t.match(await fresh.authenticate([`bEARER   ${token}`]), { id: '7' }, 'the scheme has no case')
})

t.test('rejects options that would weaken it', async (t) => {
  const options = [
    { issuer: '' },
    { issuer: 'id.example.com' },
    { issuer: 'https://id.example.com/' },
    { issuer: 'file:///etc' },
    { audience: '' },
    { audience: undefined },
    { audience: ['a', 'b'] },
    { algorithms: [] },
    { algorithms: ['none'] },
    { algorithms: ['HS256'] },
    { clockTolerance: 61 },
    { clockTolerance: -1 },
    { clockTolerance: Number.NaN },
    { jwksUri: 'javascript:alert(1)' },
    { introspection: { clientId: 'api', clientSecret: '' } },
    { introspection: { clientId: 'api', clientSecret: 'x', cacheSeconds: 6 } },
    { introspection: { clientId: 'api', clientSecret: 'x', endpoint: '/oauth/introspect' } },
  ]
  for (const wrong of options) t.throws(() => issuer.guard(wrong as never), TypeError, JSON.stringify(wrong))
})
