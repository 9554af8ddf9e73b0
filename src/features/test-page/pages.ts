import { Eta } from 'eta'

/** A token as the list shows it. */
interface ListedToken {
  id: number
  name: string
  last_used_at: string | null
}

interface LoginPage {
  xsrf: string
  errors: readonly string[]
}

interface TokensPage {
  xsrf: string
  flash: { message: string; token: string | null } | null
  tokens: readonly ListedToken[]
}

const eta = new Eta({ autoEscape: true })

const layout = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style nonce="<%= it.nonce %>">
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; box-sizing: border-box; padding: .5rem; font: inherit; }
button { margin-top: 1rem; padding: .5rem 1rem; font: inherit; }
code { overflow-wrap: anywhere; }
li form, li button { display: inline; margin: 0 0 0 .5rem; padding: 0 .5rem; }
.note { padding: .75rem 1rem; border: 1px solid; border-radius: .25rem; }
</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`

const login = eta.compile(
  layout(
    'Test login',
    `<h1>Test login</h1>
<% if (it.errors.length) { %><div class="note" role="alert"><% for (const text of it.errors) { %><p><%= text %></p><% } %></div><% } %>
<form method="post" action="/test-login">
<input type="hidden" name="_token" value="<%= it.xsrf %>">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button id="login-submit">Sign in and create a token</button>
</form>`,
  ),
)

const tokens = eta.compile(
  layout(
    'Test tokens',
    `<h1>Test tokens</h1>
<% if (it.flash) { %><div class="note" role="status" id="flash"><p><%= it.flash.message %></p>
<% if (it.flash.token) { %><p><code id="token"><%= it.flash.token %></code></p>
<p><a id="token-link" href="/test-user?token=<%= encodeURIComponent(it.flash.token) %>">Who am I with this token?</a></p><% } %></div><% } %>
<p><a id="session-link" href="/test-user">Who am I with my session?</a></p>
<ul id="tokens">
<% for (const token of it.tokens) { %><li><%= token.name %> (<%= token.id %>)
<form method="post" action="/test-tokens/<%= token.id %>">
<input type="hidden" name="_token" value="<%= it.xsrf %>"><input type="hidden" name="_method" value="DELETE">
<button>Revoke</button>
</form></li><% } %>
</ul>`,
  ),
)

/** The sign-in form of the test page. */
export const loginPage = (page: LoginPage & { nonce: string }): string => eta.render(login, page)

/** The list of the user's tokens, with what the last form did. */
export const tokensPage = (page: TokensPage & { nonce: string }): string => eta.render(tokens, page)
