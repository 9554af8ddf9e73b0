// engine: none
import { createPublicKey, verify } from 'node:crypto'
import { importJWK, jwtVerify } from 'jose'
import t from 'tap'
import { algorithms, newKey, publicPart } from '../../../../src/features/oauth/keys/jwk.ts'
import { signJwt } from '../../../../src/features/oauth/keys/sign.ts'

for (const alg of algorithms) {
  t.test(`signs with ${alg} what other libraries verify`, async (t) => {
    const key = await newKey(alg)
    const token = await signJwt(key, 'at+jwt', { sub: 'ü' })
    const { protectedHeader, payload } = await jwtVerify(token, await importJWK(publicPart(key), alg))
    t.same(protectedHeader, { alg, typ: 'at+jwt', kid: key.kid })
    t.same(payload, { sub: 'ü' })
  })
}

t.test('keeps the length of ES256 signatures whose integers are short', async (t) => {
  const key = await newKey('ES256')
  const published = createPublicKey({ key: publicPart(key), format: 'jwk' })
  const starts = new Set<number | undefined>()
  // One in 128 signatures has a short integer.
  for (let n = 0; n < 1_500; n++) {
    const token = await signJwt(key, 'at+jwt', { n })
    const [, text = '', encoded = ''] = /^(.*)\.([^.]+)$/.exec(token) ?? []
    const signature = Buffer.from(encoded, 'base64url')
    starts.add(signature[0]).add(signature[32])
    const isValid = verify('sha256', Buffer.from(text), { key: published, dsaEncoding: 'ieee-p1363' }, signature)
    if (signature.length !== 64 || !isValid) t.fail(token)
  }
  t.ok(starts.has(0), 'some were short')
})
