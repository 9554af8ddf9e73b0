// An application of another team. It signs users in with OpenID Connect, and calls the API of the shop for them.
import cookie from '@fastify/cookie'
import session from '@fastify/session'
import fastify from 'fastify'
import * as client from 'openid-client'

const ownUrl = 'http://localhost:5180'
const svc = await client.discovery(
  new URL('http://localhost:8000'),
  'reports',
  'a-secret-of-the-demo',
  client.ClientSecretBasic('a-secret-of-the-demo'),
  { execute: [client.allowInsecureRequests] }, // for http://localhost only
)

const app = fastify()
await app.register(cookie)
await app.register(session, {
  cookieName: 'reports_session',
  secret: 'a-key-of-the-demo-with-enough-characters',
  cookie: { secure: false, sameSite: 'lax' },
})

const page = (reply, body) =>
  reply.type('text/html').send(`<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<title>Acme Reports</title>
<style>body { max-width: 40rem; margin: 3rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif } pre { overflow: auto }</style>
<h1>Acme Reports</h1>
${body}
</html>`)

const escaped = (value) => JSON.stringify(value, null, 2).replaceAll('&', '&amp;').replaceAll('<', '&lt;')

app.get('/', async (request, reply) => {
  const { user, accessToken } = request.session
  if (!user) return page(reply, '<p><a href="/sign-in">Sign in with Acme</a></p>')
  const answer = await fetch('http://localhost:3000/orders', { headers: { authorization: `Bearer ${accessToken}` } })
  return page(
    reply,
    `<h2>Your ID token</h2><pre>${escaped(user)}</pre>
<h2>Orders, read with your access token</h2><pre>${escaped(await answer.json())}</pre>
<p><a href="/sign-out">Sign out</a></p>`,
  )
})

app.get('/sign-in', async (request, reply) => {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  request.session.pending = { verifier, state }
  const url = client.buildAuthorizationUrl(svc, {
    redirect_uri: `${ownUrl}/callback`,
    scope: 'openid profile email orders:read',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  return reply.redirect(url.href)
})

app.get('/callback', async (request, reply) => {
  const { pending } = request.session
  // The sign-in did not start here, or the user denied it.
  if (!pending || request.query.error) return reply.redirect('/')
  const checks = { pkceCodeVerifier: pending.verifier, expectedState: pending.state }
  const tokens = await client.authorizationCodeGrant(svc, new URL(request.url, ownUrl), checks)
  // A new session id, in case someone else knows the old one.
  await request.session.regenerate()
  request.session.user = tokens.claims()
  request.session.accessToken = tokens.access_token
  request.session.idToken = tokens.id_token
  return reply.redirect('/')
})

app.get('/sign-out', async (request, reply) => {
  const { idToken } = request.session
  await request.session.destroy()
  if (!idToken) return reply.redirect('/')
  const url = client.buildEndSessionUrl(svc, { id_token_hint: idToken, post_logout_redirect_uri: `${ownUrl}/` })
  return reply.redirect(url.href)
})

await app.listen({ host: '127.0.0.1', port: 5180 })
