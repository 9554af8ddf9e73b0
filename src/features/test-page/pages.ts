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
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: light-dark(#c9ced6, #454b55);
  --accent: light-dark(#1d4ed8, #93b4ff); --soft: light-dark(#f4f6f9, #1d2127); --bad: light-dark(#b3261e, #ff8a80); }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.2; }
a { color: var(--accent); }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input, button { padding: .5rem .75rem; font: inherit; border: 1px solid var(--line); border-radius: .375rem; }
input { width: 100%; box-sizing: border-box; }
button { margin-top: 1.5rem; cursor: pointer; }
#login-submit { width: 100%; color: light-dark(#fff, #10141a); background: var(--accent); border-color: transparent; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code { overflow-wrap: anywhere; }
ul { margin: 1rem 0; padding: 0; list-style: none; }
li { display: flex; gap: 1rem; align-items: center; justify-content: space-between; padding: .5rem 0;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
li button { margin: 0; padding: .25rem .75rem; }
.note { padding: .75rem 1rem; background: var(--soft); border: 1px solid var(--line); border-radius: .375rem; }
.note[role=alert] { border-color: var(--bad); color: var(--bad); }
.note p { margin: 0; }
.note p + p { margin-top: .75rem; }
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
<% for (const token of it.tokens) { %><li><span><%= token.name %> (<%= token.id %>)</span>
<form method="post" action="/test-tokens/<%= token.id %>">
<input type="hidden" name="_token" value="<%= it.xsrf %>"><input type="hidden" name="_method" value="DELETE">
<button>Revoke</button>
</form></li><% } %>
</ul>
<% if (!it.tokens.length) { %><p>No tokens. <a href="/test-login">Sign in again</a> to create one.</p><% } %>`,
  ),
)

/** The sign-in form of the test page. */
export const loginPage = (page: LoginPage & { nonce: string }): string => eta.render(login, page)

/** The list of the user's tokens, with what the last form did. */
export const tokensPage = (page: TokensPage & { nonce: string }): string => eta.render(tokens, page)
