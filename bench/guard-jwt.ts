// node bench/guard-jwt.ts: compares the JWT verification of packages/guard with bare jose, in alternating rounds.
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { Guard } from '../packages/guard/src/guard.ts'

const rounds = 60
const perRound = 100
const target = 1.3
const issuer = 'https://id.example.com'
const audience = 'https://orders.example.com'

/** Microseconds of one call. */
async function measure(verify: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let count = 0; count < perRound; count++) await verify()
  return ((performance.now() - start) * 1000) / perRound
}

/** The lower quartile, because other processes only add time. */
const quartile = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 2] ?? Number.NaN

for (const alg of ['ES256', 'RS256'] as const) {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'bench', alg, use: 'sig' }] }
  const claims = { client_id: 'web', scope: 'orders:read orders:write', role: 'user', jti: 'bench' }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'bench' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject('7')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)

  const jwks = createLocalJWKSet(keys)
  const options = { issuer, audience, algorithms: [alg], typ: 'at+jwt', clockTolerance: 5 }
  const bare = () => jwtVerify(token, jwks, options)
  // The key set is fetched, as in production.
  const guard = new Guard({ issuer, audience, fetch: async () => Response.json(keys) })
  const guarded = () => guard.authenticate([`Bearer ${token}`])

  await measure(bare)
  await measure(guarded)
  const times = { bare: [] as number[], guarded: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.bare.push(await measure(bare))
    times.guarded.push(await measure(guarded))
  }
  const [jose, own] = [quartile(times.bare), quartile(times.guarded)]
  const ratio = (own / jose).toFixed(2)
  console.log(
    `${alg}: jose ${jose.toFixed(0)} µs, guard ${own.toFixed(0)} µs, ratio ${ratio} (target at most ${target})`,
  )
}
