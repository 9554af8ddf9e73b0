// engine: none
import t from 'tap'
import { hour } from '../../../support/clock.ts'
import { introspect, passwordClient, token } from '../../../support/oauth.ts'
import { travel } from '../../../support/time.ts'
import { apis, buildApis, facts, settings } from './setup.ts'

t.test('keeps the grant of a token until the token expires', async (t) => {
  const once = { ...passwordClient, client_id: 'once', grants: ['password'], scopes: ['stock:read'] }
  const svc = await buildApis(t, {
    apis: { ...apis, stock: { ...apis.stock, token_ttl: '1d' } },
    clients: [...(settings.clients as object[]), once],
  })
  const { email } = await svc.createUser()
  const fields = { grant_type: 'password', username: email, password: 'correct horse' }
  const { access_token } = (await token(svc, 'once', fields)).json()
  t.equal(facts(access_token).ttl, 86_400)
  travel(svc, 23 * hour)
  await svc.app.oauth.prune()
  t.match(await introspect(svc, 'watcher', access_token), { active: true })
  travel(svc, hour)
  t.match(await introspect(svc, 'watcher', access_token), { active: false })
})
