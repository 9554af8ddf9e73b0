import fastify from 'fastify'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

/** A user that the demo creates. */
export interface DemoUser {
  name: string
  email: string
  password: string
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
  body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, sans-serif; color: #1d2430; background: #fff }
  li { margin-block: .6rem } code { background: #eef1f5; padding: .1rem .3rem; border-radius: .3rem }
  article { border: 1px solid #c9d0da; border-radius: .6rem; margin-block: 1rem; padding: 0 1rem 1rem }
  pre { overflow: auto; background: #eef1f5; padding: .6rem; border-radius: .3rem } pre code { padding: 0 }
  iframe { width: 100%; height: 24rem; border: 0 }
</style>
${body}
</html>`

const startPage = (ada: DemoUser, grace: DemoUser): string =>
  page(
    'svc demo',
    `<h1>svc in ten minutes</h1>
<p>Everything runs on this machine. Ctrl+C in the terminal stops it and deletes its data.</p>
<ol>
<li><a href="http://localhost:5173">The shop</a> is a single-page app with a session cookie. Sign in as <code>${ada.email}</code> with
  <code>${ada.password}</code>, and order something. A gateway asks svc about each request to the API, which gets an access token.</li>
<li><a href="http://localhost:5180">Reports</a> is an OAuth client. You are signed in already, so it only asks for your consent. It
  shows its ID token, and reads the orders with its access token.</li>
<li>In <a href="http://localhost:8000/account">your account</a>, open “Devices” to see your session, and “Connected apps” to see
  Reports. Add a passkey or an authenticator app, then sign out and in again.</li>
<li>On the <a href="http://localhost:8000/login">sign-in page</a>, choose “Forgot your password?”. Then open the mail in the
  <a href="/mails">mailbox</a>.</li>
<li>Sign out, and choose “Partner Ltd” on the <a href="http://localhost:8000/login">sign-in page</a>: a second svc, the identity
  provider of another company. Its user is <code>${grace.email}</code>
  with <code>${grace.password}</code>.</li>
<li>Open <code>demo/svc.yaml</code> in an editor, add <code>second_factor: true</code> to the rule of the guard, and save. The terminal
  shows what changed, and the shop shows “A second factor is required.” Add an authenticator app in your account, then sign in to
  the shop again.</li>
<li>Call the API without a browser:
  <pre><code>token=$(curl -s http://localhost:8000/svc/token -H 'Content-Type: application/json' \\
  -d '{"email": "${ada.email}", "password": "${ada.password}", "device_name": "Phone"}' |
  sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
curl -s http://localhost:5173/api/orders -H "Authorization: Bearer $token"</code></pre></li>
</ol>
<p><code>docs/tutorial.md</code> builds the shop from nothing.</p>`,
  )

const mailPage = (mails: readonly Email[]): string => {
  const shown = mails.map(({ subject, to, html, text }) => {
    const body = html ?? `<pre>${escaped(text ?? '')}</pre>`
    // Without scripts. Links open in a new tab.
    return `<article><h2>${escaped(subject ?? '')}</h2><p>To ${escaped(to?.[0]?.address ?? '')}</p>
<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" title="Mail" srcdoc="${escaped(`<base target="_blank">${body}`)}"></iframe></article>`
  })
  const empty = '<p>No mail yet. This page reloads every five seconds.</p>'
  return page(
    'Mails',
    `<meta http-equiv="refresh" content="5"><h1>Mails</h1><p><a href="/">Back</a></p>${shown.reverse().join('') || empty}`,
  )
}

/** Serves the start page and the mailbox, and receives the mails. */
export async function serveStartPage(ada: DemoUser, grace: DemoUser): Promise<void> {
  const mails: Email[] = []
  const receiver = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        mails.push(await PostalMime.parse(Buffer.concat(chunks)))
        done()
      })
    },
  })
  await new Promise<void>((done) => receiver.listen(1025, '127.0.0.1', () => done()))
  const app = fastify()
  app.addHook('onSend', async (_request, reply) => void reply.type('text/html; charset=utf-8'))
  app.get('/', async () => startPage(ada, grace))
  app.get('/mails', async () => mailPage(mails))
  await app.listen({ host: '127.0.0.1', port: 4000 })
}
