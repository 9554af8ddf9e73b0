import { getDomain } from 'tldts'
import { stringify } from 'yaml'
import { type Answers, isLocal } from './answers.ts'
import { gateway } from './compose.ts'

/** Returns a value as YAML on one line. */
const scalar = (value: string): string => stringify(value, { lineWidth: 0 }).trim()

/** The same inside brackets, where more characters have a meaning. */
const inner = (value: string): string => (/^[\w./:@-]*[\w/]$/.test(value) ? value : JSON.stringify(value))

/** Returns the name of the product, from its domain. */
function productName({ hostname }: URL): string {
  const name = getDomain(hostname, { allowPrivateDomains: true })?.split('.')[0] ?? 'my app'
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Returns the text of svc.yaml. `secretPath` returns the file of a secret, or null if there is no such secret. */
export function configuration(answers: Answers, secretPath: (name: string) => string | null): string {
  const { url, frontend, sessionDomain, admin, deploy } = answers
  const secret = (name: string) => {
    const path = secretPath(name)
    return path && `{ file: ${inner(path)} }`
  }
  const isProduction = !isLocal(url.origin)
  const lines = [
    '# The configuration of svc. Save this file to apply most changes; docs/reload.md lists those that need a restart.',
    '# config/reference.yaml explains every key, and `svc config:check` finds mistakes.',
    '',
    'app:',
    `  name: ${scalar(productName(url))} # the name that your users read`,
    `  url: ${scalar(url.origin)}`,
    ...(isProduction ? ['  environment: production'] : []),
    ...(frontend ? [`  frontend_url: ${scalar(frontend.origin)}`] : []),
    `  secret: ${secret('svc_secret')}`,
    ...proxyLines(answers),
    ...databaseLines(answers, secret('database_url')),
    ...sessionLines(frontend, sessionDomain),
    '',
    '# Mail with links and codes.',
    'mail:',
    `  url: ${secret('mail_url') ?? scalar(answers.mail)}`,
    `  from: ${scalar(`${productName(url)} <no-reply@${getDomain(url.hostname) ?? 'localhost'}>`)}`,
    ...(admin ? ['', '# Users with this role may use the admin API.', 'admin: { roles: [admin] }'] : []),
    '',
    '# Applications that sign users in with OpenID Connect: docs/oauth.md.',
    '# clients:',
    '#   - client_id: grafana',
    '#     name: Grafana',
    '#     type: confidential',
    '#     secret_hash: sha256:…  # svc client:secret makes one',
    '#     redirect_uris: [https://grafana.example.com/login/generic_oauth]',
    '#     grants: [authorization_code, refresh_token]',
  ]
  if (deploy === 'helm') return lines.slice(3).join('\n')
  return `${lines.join('\n')}\n`
}

function proxyLines({ url, deploy }: Answers): string[] {
  if (url.protocol !== 'https:')
    return url.port && url.port !== '8000' && deploy === 'none' ? ['', `server: { port: ${url.port} }`] : []
  if (deploy === 'helm')
    return [
      '',
      "# The addresses of your ingress controller's pods, and no others: docs/deployment.md.",
      '# server: { trust_proxy: [10.0.5.0/24] }',
    ]
  if (deploy === 'compose')
    return [
      '',
      '# The proxy on this machine. svc sees the gateway of the network in compose.yaml.',
      `server: { trust_proxy: [${gateway}] }`,
    ]
  return ['', '# The proxy on this machine.', 'server: { host: 127.0.0.1, trust_proxy: [127.0.0.1, "::1"] }']
}

function databaseLines({ database, deploy }: Answers, secret: string | null): string[] {
  if (secret) return ['', `database: { url: ${secret} }`]
  const file = database === 'sqlite' ? { systemd: 'file:/var/lib/svc/svc.db' }[String(deploy)] : database
  return file ? ['', `database: { url: ${inner(file)} }`] : []
}

function sessionLines(frontend: URL | null, domain: string | null): string[] {
  if (!frontend) return []
  return [
    '',
    '# The front end signs in with a session cookie.',
    `stateful: [${inner(frontend.host)}]`,
    ...(domain ? [`session: { domain: ${inner(domain)} }`] : []),
  ]
}
