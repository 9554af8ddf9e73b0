// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { callback, oauthSettings, Person, request, response, token } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

t.test('allows fifty sign-ins in a row with the limits off', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, rate_limits: { login: null, token: null, global: null } },
    clock: stopTime(t),
  })
  const { email } = await svc.createUser()
  for (let i = 0; i < 50; i++) {
    const stop = await new Person(svc, email).allow(request('web', { scope: 'openid' }))
    const answer = await token(svc, 'web', {
      grant_type: 'authorization_code',
      code: response(stop).code ?? '',
      redirect_uri: callback,
      code_verifier: 'a-random-code-verifier-of-the-tests-0123456789',
    })
    if (answer.statusCode !== 200) return t.fail(answer.body)
    const wrong = await svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'client_credentials', client_id: 'web', client_secret: 'wrong' },
    })
    if (wrong.statusCode !== 401) return t.fail(wrong.body)
  }
  t.pass('none was limited')
})
