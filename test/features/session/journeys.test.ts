// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'

t.test('signs an SPA in, returns its user and signs it out', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  const login = await spa.signIn(user.email)
  t.equal(login.statusCode, 200, login.body)
  t.match(login.json(), { two_factor: false, user: { id: user.id, email: user.email }, message: String })
  const me = await spa.get('/api/user')
  t.equal(me.statusCode, 200)
  t.equal(me.json().email, user.email)
  t.notOk('password' in me.json())
  const out = await spa.post('/logout')
  t.equal(out.statusCode, 200, out.body)
  t.equal((await spa.get('/api/user')).statusCode, 401)
})

t.test('issues a token to a mobile app, accepts it, and revokes it', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const login = await svc.bearer(null, 'POST', '/svc/token', {
    email: user.email,
    password: 'correct horse',
    device_name: 'Phone',
  })
  t.equal(login.statusCode, 200, login.body)
  const { token } = login.json()
  t.equal((await svc.bearer(token, 'GET', '/api/user')).json().id, user.id)
  t.equal((await svc.bearer(token, 'GET', '/api/tokens')).json().length, 1)
  t.equal((await svc.bearer(token, 'POST', '/logout')).statusCode, 200)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
})

t.test('resumes a remembered browser', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  t.equal((await spa.signIn(user.email, undefined, { remember: true })).statusCode, 200)
  svc.clock.advance(3 * hour)
  const me = await spa.get('/api/user')
  t.equal(me.statusCode, 200, me.body)
  t.equal((await spa.post('/logout')).statusCode, 200)
  t.equal((await spa.get('/api/user')).statusCode, 401)
})
