// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { settings } from './pieces.ts'

const site = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }

/** Values that a form can have and a header cannot. */
const odd: Readonly<Record<string, Buffer>> = {
  'a line break': Buffer.from('state=a%0d%0aset-cookie:%20x=y'),
  'raw control characters': Buffer.from('state=a\r\nb\0c\u007f'),
  'an emoji': Buffer.from('state=😀&scope=openid 😀'),
  'letters of many scripts': Buffer.from('state=日本語&login_hint=ü@bücher.example'),
  'invalid UTF-8': Buffer.from([...Buffer.from('state='), 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
  'a lone surrogate': Buffer.from('state=%ed%a0%80'),
  'a broken escape': Buffer.from('state=%&scope=%zz&x=%u0041'),
  'names that are odd': Buffer.from('%00=1&\r\n=2&😀=3'),
  nothing: Buffer.from(''),
}

for (const url of ['/oauth/authorize', '/oauth/logout']) {
  t.test(`${url} answers odd forms from other sites without a failure`, async (t) => {
    const svc = await buildTestApp(t, { settings })
    const send = (payload: Buffer) =>
      svc.app.inject({
        method: 'POST',
        url,
        payload,
        headers: { ...site, accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      })
    for (const [name, body] of Object.entries(odd)) {
      const form = Buffer.concat([Buffer.from('client_id=web&response_type=code&'), body])
      const answer = await send(form)
      t.equal(answer.statusCode, 303, `${name}: ${answer.body.slice(0, 200)}`)
      const location = String(answer.headers.location)
      t.match(location, /^[\x21-\x7e]+$/, name)
      t.notOk(answer.headers['set-cookie']?.includes('x=y'), name)
      const sent = new URLSearchParams(form.toString())
      t.strictSame([...new URLSearchParams(location.split('?')[1])], [...sent], `${name} arrives unchanged`)
      const next = await svc.app.inject({ url: location, headers: { accept: 'text/html' } })
      t.ok([200, 302, 303, 400].includes(next.statusCode), `${name}: ${next.statusCode}`)
    }
    for (let round = 0; round < 200; round++) {
      const bytes = Buffer.from(Array.from({ length: 40 }, () => Math.floor(Math.random() * 256)))
      const answer = await send(bytes)
      t.ok([303, 400].includes(answer.statusCode), bytes.toString('hex'))
    }
  })
}
