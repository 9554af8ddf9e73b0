// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'
import { post } from '../clients/parties.ts'

t.test('lets a user allow a client that nobody registered, and end it', async (t) => {
  const host = await DocumentHost.start(t)
  const client_id = host.serve('/client.json')
  const svc = await buildTestApp(t, { settings: openTo(), clock: stopTime(t) })
  const metadata = (await svc.app.inject('/.well-known/oauth-authorization-server')).json()
  t.equal(metadata.client_id_metadata_document_supported, true)

  const ada = new Person(svc, (await svc.createUser()).email)
  const asked = { client_id, response_type: 'code', redirect_uri: loopback, state: 'x', ...pkce }
  const signIn = await ada.authorize({ ...asked, scope: 'orders:read orders:write' })
  t.equal(signIn.page, 'Sign in')
  t.match(signIn.answer.body, `localhost:${host.port}`, 'the sign-in page names the host')
  t.notMatch(signIn.answer.body, 'Example Agent', 'not the name that the client gives itself')
  const page = await ada.press(signIn, { email: ada.email, password: 'correct horse' })
  t.equal(page.page, 'Authorize')
  const text = page.answer.body
  t.match(text, new RegExp(`<h1>localhost:${host.port} asks for access`), 'the host comes first')
  t.match(text, 'It calls itself “Example Agent”.')
  t.match(text, 'No administrator has checked this app.')
  t.match(text, 'an app on this device', 'where the browser goes next')
  t.match(text, /Any program on this device can claim to be from localhost/)
  t.match(text, 'See your orders')
  t.notMatch(text, 'Change your orders', 'a scope that such clients cannot get')

  const allowed = await ada.press(page, { decision: 'approve' })
  const { code = '', state } = response(allowed)
  t.equal(state, 'x')
  const exchange = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: loopback,
    client_id,
    code_verifier: verifier,
  }
  const answer = await post(svc, '/oauth/token', exchange)
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.json().scope, 'orders:read', 'the response names the part that was allowed')
  t.match(decodeJwt(answer.json().access_token), { client_id, aud: 'http://localhost:8000', scope: 'orders:read' })
  const { refresh_token, access_token } = answer.json()
  const renewed = await post(svc, '/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id })
  t.equal(renewed.statusCode, 200)
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 200)

  const again = await ada.authorize({ ...asked, scope: 'orders:read' })
  t.equal(again.page, 'Authorize', 'the consent page is never skipped')
  const silent = await ada.authorize({ ...asked, scope: 'orders:read', prompt: 'none' })
  t.equal(silent.out, null, 'an error leads to no program before the user decides')
  t.match(silent.answer.body, /<code>interaction_required: .*Back to|Back to 127\.0\.0\.1:33418/s)
  t.match(silent.answer.body, /href="http:\/\/127\.0\.0\.1:33418\/callback\?error=interaction_required[^"]*state=x/)

  const connected = await ada.go('/account/applications')
  t.match(connected.answer.body, /localhost:\d+<\/strong>/)
  t.match(connected.answer.body, 'It calls itself “Example Agent”.')
  const [action = ''] = /\/account\/applications\/[^"]+\/disconnect/.exec(connected.answer.body) ?? []
  await ada.plain.post(action, { _token: /name="_token" value="([^"]+)"/.exec(connected.answer.body)?.[1] ?? '' })
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401, 'the token ends at once')
  const ended = await post(svc, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: renewed.json().refresh_token,
    client_id,
  })
  t.equal(ended.json().error, 'invalid_grant')
})
