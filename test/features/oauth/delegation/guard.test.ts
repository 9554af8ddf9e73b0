// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { api, buildGuarded } from '../../forward-auth/setup.ts'
import { act, notes, orders, post, settings, shopToken } from './setup.ts'

const rules = [
  { paths: ['/orders/*'], audience: 'orders' },
  { paths: ['/plain'], access: 'authenticated' },
]

t.test('tells a guarded service who acts for the user, also in the token for its API', async (t) => {
  const svc = await buildGuarded(t, rules, { ...settings(), guard: { default: 'authenticated' } })
  const { user, token } = await shopToken(svc, { scope: 'orders:read', resource: orders })
  const { user: other, token: plain } = await shopToken(svc, notes)
  const agent = (await act(svc, 'assistant', token)).json().access_token
  const chained = (await act(svc, 'second', agent)).json().access_token
  const ask = async (path: string, bearer: string) =>
    (await svc.ask({ url: api + path, headers: { authorization: `Bearer ${bearer}` } })).headers
  const sent = async (bearer: string) => {
    const headers = await ask('/orders/1', bearer)
    const { act, sub, aud } = decodeJwt(String(headers.authorization).slice('Bearer '.length))
    return [headers['remote-user'], headers['svc-actor'], sub, aud, act]
  }
  const id = String(user.id)
  t.same(await sent(token), [id, undefined, id, orders, undefined], 'the user alone')
  t.same(await sent(agent), [id, 'assistant', id, orders, { sub: 'assistant' }])
  t.same(await sent(chained), [id, 'second', id, orders, { sub: 'second', act: { sub: 'assistant' } }])
  const machine = (await post(svc, 'assistant', { grant_type: 'client_credentials', ...notes })).json().access_token
  t.match(await ask('/plain', machine), { 'svc-actor': undefined, 'remote-user': undefined })
  const noted = (await act(svc, 'assistant', plain)).json().access_token
  t.match(await ask('/plain', noted), { 'svc-actor': 'assistant', 'remote-user': String(other.id) })
})

t.test('renames or omits the header of the actor', async (t) => {
  const named = async (actor: string | null) => {
    const svc = await buildGuarded(t, rules, { ...settings(), guard: { default: 'authenticated', headers: { actor } } })
    const { token } = await shopToken(svc, notes)
    const agent = (await act(svc, 'assistant', token)).json().access_token
    return (await svc.ask({ url: `${api}/plain`, headers: { authorization: `Bearer ${agent}` } })).headers
  }
  t.match(await named('X-Agent'), { 'x-agent': 'assistant', 'svc-actor': undefined })
  t.notMatch(JSON.stringify(await named(null)), 'assistant')
})
