import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Authenticator, cbor } from '../../support/authenticator.ts'
import { second } from '../../support/clock.ts'
import { buildPasskeyApp, texts, Visitor, withPasskey } from './visitor.ts'

const text = (value: string | Buffer): string => Buffer.from(value).toString('base64url')

/** Values in place of a base64url text. */
const values: readonly unknown[] = [
  ...['', 'x', '=', '☃', '\ufeff', 'A'.repeat(2_000), 'A'.repeat(40_000), 'AAAA===='],
  ...[null, 0, 1.5, true, [], {}, ['x'], { toString: 'x' }, { length: 3 }],
  ...[text('null'), text('[]'), text('5'), text('"x"'), text('{}'), text('{"type":'), text('{"__proto__":{"x":1}}')],
  ...[text('{"type":"webauthn.get","challenge":{},"origin":[]}'), text('{"type":"webauthn.get","challenge":null}')],
  ...[text(cbor(new Map())), text(cbor([])), text(cbor(5)), text(Buffer.alloc(36)), text(Buffer.alloc(37, 0xff))],
  ...[text(Buffer.alloc(20_000, 0x81)), text(Buffer.alloc(200, 0x9b)), text(Buffer.from([0x5b, 255, 255, 255, 255]))],
  ...[text(cbor(new Map([['fmt', 'none']]))), text(Buffer.alloc(2_000, 0xbf)), text(Buffer.alloc(55, 0x41))],
]

t.test('answers garbage without an internal error or a sign-in', async (t) => {
  const svc = await buildPasskeyApp(t, { session: { lifetime: '600m' } })
  const { authenticator, owner, user } = await withPasskey(svc)
  const refused = new Set(Object.values(texts))
  const guest = new Visitor(svc.browser())
  const before = await svc.database.prisma.passkey.findMany()

  const send = async (ceremony: 'login' | 'register', credential: unknown, what: string) => {
    const visitor = ceremony === 'login' ? guest : owner
    const answer = await visitor.answer(ceremony, credential)
    t.equal(answer.statusCode, 422, what)
    const { errors } = answer.json()
    for (const found of Object.values(errors).flat()) {
      const isText =
        refused.has(String(found)) || /^The credential field (is required|must be an array)\.$/.test(String(found))
      t.ok(isText, `${what}: ${String(found)}`)
    }
  }
  for (const ceremony of ['login', 'register'] as const) {
    const visitor = ceremony === 'login' ? guest : owner
    const make = async () => {
      // Stays below the limit.
      svc.clock.advance(2 * second)
      const options = await visitor.options(ceremony)
      return ceremony === 'register' ? new Authenticator().register(options) : authenticator.assert(options)
    }
    const honest = await make()
    for (const [index, value] of values.entries()) {
      const what = `${ceremony} ${index}`
      await send(ceremony, value, what)
      for (const parts of [{ id: value, rawId: value }, { type: value }, { response: value }])
        await send(ceremony, { ...(await make()), ...parts }, `${what} as ${Object.keys(parts)}`)
      for (const field of Object.keys(honest.response)) {
        // Both are optional, and blank counts as missing.
        const isLeftOut = value === null || (typeof value === 'string' && value.trim() === '')
        if (field === 'transports' || (field === 'userHandle' && isLeftOut)) continue
        const credential = await make()
        await send(
          ceremony,
          { ...credential, response: { ...credential.response, [field]: value } },
          `${what} as ${field}`,
        )
      }
    }
    for (let round = 0; round < 20; round++) {
      const credential = await make()
      const response = Object.fromEntries(
        Object.keys(honest.response).map((field) => [field, text(randomBytes(round * 9))]),
      )
      await send(ceremony, { ...credential, response }, `${ceremony} random ${round}`)
    }
  }
  t.equal(await guest.userId(), null)
  t.equal(await owner.userId(), user.id)
  t.strictSame(await svc.database.prisma.passkey.findMany(), before, 'nothing was registered or used')
  t.strictSame(
    svc.logs.filter((line) => /"level":"?(error|fatal|50|60)/.test(line)),
    [],
  )
})

t.test('drops unknown transports', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { owner } = await withPasskey(svc)
  for (const transports of [null, 'usb', {}, [1, null, 'usb', 'usb', 'x', { a: 1 }], Array(500).fill('nfc')]) {
    const credential = new Authenticator().register(await owner.options('register'))
    const answer = await owner.answer('register', { ...credential, response: { ...credential.response, transports } })
    t.equal(answer.statusCode, 200, answer.body)
  }
  const rows = await svc.database.prisma.passkey.findMany({ orderBy: { id: 'asc' }, skip: 1 })
  t.strictSame(
    rows.map(({ transports }) => transports),
    ['[]', '[]', '[]', '["usb"]', '["nfc"]'],
  )
})
