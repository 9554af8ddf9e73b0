// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { oauthSettings, Person, post, request } from '../../../support/oauth.ts'

const data = 'data:image/png;base64,iVBORw0KGgo='
const shown: Record<string, object> = {
  web: {
    name: 'Web <b>Shop</b>',
    logo_uri: 'https://cdn.example/a.png?x=1;script-src *',
    tos_uri: 'https://shop.example/"><b>terms',
    policy_uri: 'https://shop.example/privacy?a=1&b=2',
  },
  tv: { logo_uri: data, policy_uri: 'https://tv.example/privacy' },
}
const settings = {
  ...oauthSettings,
  clients: oauthSettings.clients.map((client) => ({ ...client, ...shown[client.client_id] })),
}

const imagesOf = ({ headers }: { headers: Record<string, unknown> }): string | undefined =>
  /img-src ([^;]*)/.exec(String(headers['content-security-policy']))?.[1]?.trim()

t.test('shows the logo, the terms and the privacy policy of the client that asks', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const ada = new Person(svc, (await svc.createUser()).email)
  const signIn = (await ada.go(`/oauth/authorize?${new URLSearchParams(request('web', { scope: 'openid' }))}`)).answer
  await ada.signIn()
  const consent = (await ada.authorize(request('web', { scope: 'openid' }))).answer
  for (const [page, { body, headers }] of Object.entries({ signIn, consent })) {
    t.match(body, '<img class="application-logo" src="https://cdn.example/a.png?x=1;script-src *" alt=""', page)
    t.match(body, 'referrerpolicy="no-referrer"', 'the host of the logo does not see the page')
    t.match(
      body,
      'href="https://shop.example/&quot;&gt;&lt;b&gt;terms" rel="noreferrer">Terms of Web &lt;b&gt;Shop',
      'escaped',
    )
    t.match(body, 'href="https://shop.example/privacy?a=1&amp;b=2" rel="noreferrer">Privacy policy of Web')
    t.equal(imagesOf({ headers }), "https://cdn.example 'self'", 'and allows only its origin')
    t.match(headers['content-security-policy'], /script-src 'self' 'nonce-\w+';/)
  }
  const spa = (await ada.authorize(request('spa', { scope: 'openid' }))).answer
  t.notMatch(spa.body, /application-(logo|links|terms|privacy)"/, 'other clients have none')
  t.equal(imagesOf(spa), "'self'")
  t.equal(imagesOf((await ada.go('/oauth/login')).answer), "'self'", 'nor other pages')

  const { user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  const device = (await ada.press(await ada.go('/oauth/device'), { user_code })).answer
  t.match(device.body, `<img class="application-logo" src="${data}"`)
  t.match(device.body, 'id="application-privacy"')
  t.notMatch(device.body, 'id="application-terms"')
  t.equal(imagesOf(device), "data: 'self'", 'nothing is loaded from another host')
})
