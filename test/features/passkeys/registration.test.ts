import { randomBytes } from 'node:crypto'
import t from 'tap'
import { accountsOf } from '../../../src/auth/accounts.ts'
import { Authenticator, type Forgery } from '../../support/authenticator.ts'
import {
  buildPasskeyApp,
  eventsOf,
  forgedCeremonies,
  refusal,
  signedIn,
  texts,
  Visitor,
  withPasskey,
} from './visitor.ts'

t.test('returns complete options that exclude existing passkeys', async (t) => {
  const svc = await buildPasskeyApp(t, { app: { name: 'Acme', frontend_url: 'http://localhost:5173' } })
  const { user, visitor } = await signedIn(svc)
  const authenticator = new Authenticator()
  const first = await visitor.browser.get('/user/passkeys/options')
  t.equal(first.statusCode, 200)
  const { options } = first.json()
  t.match(options.challenge, /^[\w-]{43}$/, '32 bytes')
  t.match(options.user.id, /^[\w-]{43}$/, 'an opaque handle')
  t.strictSame(
    { ...options, challenge: '', user: { ...options.user, id: '' } },
    {
      challenge: '',
      rp: { id: 'localhost', name: 'Acme' },
      user: { id: '', name: user.email, displayName: user.name },
      pubKeyCredParams: [
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      timeout: 300_000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      extensions: { credProps: true },
    },
  )
  t.equal((await visitor.answer('register', authenticator.register(options))).statusCode, 200)
  const second = (await visitor.browser.get('/user/passkeys/options')).json().options
  t.strictSame(second.excludeCredentials, [
    { id: authenticator.id, type: 'public-key', transports: ['hybrid', 'internal'] },
  ])
  t.equal(second.user.id, options.user.id, 'the handle never changes')
  t.not(second.challenge, options.challenge)
  const other = await signedIn(svc)
  t.not((await other.visitor.options('register')).user?.id, options.user.id, 'and differs by user')
})

t.test('registers a passkey, notifies the owner and records it', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, visitor } = await signedIn(svc)
  const authenticator = new Authenticator({ counter: 7 })
  const credential = authenticator.register(await visitor.options('register'), { backedUp: true })
  const more = { name: '  My phone ', user_id: 999, id: '77', counter: 0, public_key: 'x', backed_up: false }
  const answer = await visitor.answer('register', credential, more)
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { id: answer.json().id, name: 'My phone', status: 'passkey-registered' })
  t.type(answer.json().id, 'string')
  const [row] = await svc.database.prisma.passkey.findMany()
  t.match(row, { userId: BigInt(user.id), counter: 7n, backedUp: true, credentialId: authenticator.id })
  t.match(await eventsOf(svc, 'passkey_registered'), [{ userId: user.id, data: { backed_up: true } }])
  t.equal((await svc.mailbox.to(user.email)).length, 1, 'the owner is notified')
  const rsa = new Authenticator({ algorithm: 'RS256' })
  t.equal((await visitor.register(rsa)).statusCode, 200, 'RS256 is the other algorithm')
  t.equal((await new Visitor(svc.browser()).login(rsa)).statusCode, 200)
  t.equal((await visitor.register(new Authenticator(), { attestation: 'self' })).statusCode, 200, 'self attestation')
})

t.test('rejects every forged response, and registers nothing', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, visitor } = await signedIn(svc)
  const certificate = new Map([['x5c', [randomBytes(64)]]])
  const forgeries: Record<string, Forgery> = {
    ...forgedCeremonies,
    'an origin with ours as a prefix': { origin: 'http://localhost:5173.evil.example' },
    'our origin on another port': { origin: 'http://localhost:5174' },
    'the other ceremony': { type: 'webauthn.get' },
    'a certificate': { attestation: { fmt: 'packed', attStmt: certificate } },
    'an attestation of a TPM': { attestation: { fmt: 'tpm', attStmt: certificate } },
    'an attestation of Android': { attestation: { fmt: 'android-safetynet', attStmt: certificate } },
    'an attestation of an unknown kind': { attestation: { fmt: 'x', attStmt: certificate } },
    'a statement for format none': { attestation: { fmt: 'none', attStmt: certificate } },
  }
  for (const [what, forgery] of Object.entries(forgeries)) {
    const answer = await visitor.register(new Authenticator(), forgery)
    t.equal(answer.statusCode, 422, what)
    t.strictSame(answer.json(), refusal(texts.notRegistered), what)
  }
  const looked = svc.logs.filter((line) => line.includes('the attestation format was not requested'))
  t.equal(looked.length, 4, 'no certificate is inspected')
  const edwards = await visitor.register(new Authenticator({ algorithm: 'EdDSA' }))
  t.strictSame(edwards.json(), refusal(texts.notRegistered), 'an algorithm that was not offered')
  const [mine, theirs] = [new Authenticator(), new Authenticator()]
  const swapped = { ...mine.register(await visitor.options('register')), id: theirs.id, rawId: theirs.id }
  t.strictSame((await visitor.answer('register', swapped)).json(), refusal(texts.notRegistered), 'another id')
  t.equal(await svc.database.prisma.passkey.count(), 0)
  t.equal((await eventsOf(svc, 'passkey_registered')).length, 0)
  t.equal((await svc.mailbox.to(user.email)).length, 0)
  t.equal((await visitor.register(new Authenticator())).statusCode, 200, 'a genuine one is registered')
})

t.test('requires no user verification unless configured', async (t) => {
  for (const user_verification of ['preferred', 'discouraged']) {
    const svc = await buildPasskeyApp(t, { passkeys: { user_verification } })
    const { visitor } = await signedIn(svc)
    const { options } = (await visitor.browser.get('/user/passkeys/options')).json()
    t.equal(options.authenticatorSelection.userVerification, user_verification)
    t.equal((await visitor.register(new Authenticator(), { userVerified: false })).statusCode, 200)
  }
})

t.test('registers a credential once, for one user', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, owner } = await withPasskey(svc)
  t.strictSame((await owner.register(authenticator)).json(), refusal(texts.taken))
  const { visitor: thief } = await signedIn(svc)
  const copy = new Authenticator({ id: Buffer.from(authenticator.id, 'base64url') })
  t.strictSame((await thief.register(copy)).json(), refusal(texts.taken), "another user's id is not taken over")
  const passkeys = await svc.database.prisma.passkey.findMany()
  t.match(passkeys, [{ userId: BigInt(user.id), credentialId: authenticator.id }])

  const people = await Promise.all([1, 2, 3, 4].map(async () => (await signedIn(svc)).visitor))
  const shared = randomBytes(32)
  const answers = await Promise.all(people.map((visitor) => visitor.register(new Authenticator({ id: shared }))))
  t.strictSame(
    answers.map(({ statusCode }) => statusCode).sort(),
    [200, 422, 422, 422],
    'one of four concurrent requests',
  )
})

t.test('leaves no passkey of a user who loses the account while registering', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { claimAccount } = accountsOf(svc.app)
  const statuses = new Set<number>()
  for (let round = 0; round < 20; round++) {
    const { user, visitor } = await signedIn(svc)
    const credential = new Authenticator().register(await visitor.options('register'))
    const claiming = async () => {
      for (let turns = 0; turns < round; turns++) await new Promise((resolve) => setImmediate(resolve))
      await svc.database.transaction((tx) => claimAccount(tx, user.id))
    }
    const [answer] = await Promise.all([visitor.answer('register', credential), claiming()])
    statuses.add(answer.statusCode)
    t.equal(await svc.database.prisma.passkey.count(), 0, `round ${round}: ${answer.statusCode}`)
  }
  t.ok(
    [...statuses].every((status) => [200, 401, 422].includes(status)),
    [...statuses].join(),
  )
})

t.test('requires only a name', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { visitor } = await signedIn(svc)
  const credential = new Authenticator().register(await visitor.options('register'))
  const wrong: [unknown, string][] = [
    [undefined, 'The name field is required.'],
    ['', 'The name field is required.'],
    ['   ', 'The name field is required.'],
    [5, 'The name field must be a string.'],
    ['x'.repeat(256), 'The name field must not be greater than 255 characters.'],
  ]
  for (const [name, text] of wrong) {
    const answer = await visitor.answer('register', credential, { name })
    t.equal(answer.statusCode, 422)
    t.strictSame(answer.json().errors, { name: [text] })
  }
  t.equal((await visitor.answer('register', credential, { name: 'é'.repeat(255) })).statusCode, 200)
})

t.test('limits a user to 100 passkeys, also with parallel requests', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, visitor } = await signedIn(svc)
  const second = new Visitor(svc.browser())
  await second.browser.signIn(user.email)
  const { prisma } = svc.database
  const date = new Date(svc.clock.now())
  await prisma.passkey.createMany({
    data: Array.from({ length: 99 }, (_, index) => ({
      userId: BigInt(user.id),
      name: `Phone ${index}`,
      credentialId: randomBytes(16).toString('base64url'),
      publicKey: '',
      transports: '[]',
      createdAt: date,
      updatedAt: date,
    })),
  })
  const answers = await Promise.all([visitor, second].map((each) => each.register(new Authenticator())))
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 422])
  t.strictSame(answers.find(({ statusCode }) => statusCode === 422)?.json(), refusal(texts.limit))
  t.equal(await prisma.passkey.count({ where: { userId: BigInt(user.id) } }), 100)
  t.equal((await eventsOf(svc, 'passkey_registered')).length, 1)

  const [oldest] = (await visitor.browser.get('/user/passkeys')).json()
  t.equal((await visitor.browser.delete(`/user/passkeys/${oldest.id}`)).statusCode, 200)
  t.equal((await visitor.register(new Authenticator())).statusCode, 200)
  t.equal((await (await signedIn(svc)).visitor.register(new Authenticator())).statusCode, 200, 'counts for each user')
})
