import { CommandError } from '../../contract/command.ts'
import { formats, isOrigin } from '../../platform/config/formats.ts'
import { commonDomain, isLoopback, isPublicSuffix, isWithin } from '../../platform/config/hosts.ts'
import { isEmail } from '../../platform/http/formats.ts'

/** How svc will run, and the proxy in front of it. */
export const deployments = ['compose', 'helm', 'systemd', 'none'] as const
export const proxies = ['caddy', 'nginx', 'traefik', 'none'] as const

/** What the files depend on. */
export interface Answers {
  /** Origin of svc. */
  url: URL
  /** `sqlite`, `postgresql` for a database that Compose runs, or a URL. */
  database: string
  /** Value of `mail.url`. */
  mail: string
  /** Origin of the single-page application; null for svc's pages. */
  frontend: URL | null
  /** Domain of the session cookie, if svc and the front end have different hosts. */
  sessionDomain: string | null
  /** Address of the first administrator. */
  admin: string | null
  deploy: (typeof deployments)[number]
  proxy: (typeof proxies)[number]
}

/** Raw values of the options and questions. */
export type Given = Record<'url' | 'database' | 'mail' | 'frontend' | 'admin', string> &
  Pick<Answers, 'deploy' | 'proxy'>

/** One question of `svc init`, which is an option of the same name, too. */
export interface Question {
  name: 'url' | 'database' | 'mail' | 'frontend' | 'admin'
  text: string
  fallback: string
  /** Returns what is wrong with a value, or null. `so` has the answers so far. */
  problem(value: string, so: Partial<Given>): string | null
}

/** The five questions, in their order. */
export const questions: readonly Question[] = [
  {
    name: 'url',
    text: 'Public address of svc',
    fallback: 'http://localhost:8000',
    problem(value, { deploy = 'none', proxy = 'none' }) {
      if (!isOrigin(value)) return 'must be an origin without a path, such as https://auth.example.com'
      const { protocol, hostname, port } = new URL(value)
      if (!isPlainHost(hostname)) return 'must have a host name of letters, digits, dots and hyphens'
      if (protocol === 'https:') return port && proxy !== 'none' ? 'must have no port with --proxy' : null
      if (!isLoopback(hostname)) return 'must use https, except on localhost'
      if (deploy === 'helm' || deploy === 'systemd') return `must use https with --deploy=${deploy}`
      return proxy === 'none' ? null : `must use https with --proxy=${proxy}`
    },
  },
  {
    name: 'database',
    text: 'Database: sqlite, a PostgreSQL URL, or postgresql (Compose only) to run PostgreSQL beside svc',
    fallback: 'sqlite',
    problem(value, { deploy }) {
      if (value === 'sqlite') return null
      if (value === 'postgresql')
        return deploy === 'compose'
          ? null
          : 'must be a URL such as postgresql://svc:password@host/svc. The value postgresql works only with Compose'
      if (value.startsWith('file:') && deploy !== 'none' && deploy !== 'systemd')
        return `must be sqlite or PostgreSQL with --deploy=${deploy}`
      return formats['database-url'].matches(value)
        ? null
        : 'must be sqlite, or a URL such as postgresql://svc:password@host:5432/svc'
    },
  },
  {
    name: 'mail',
    text: 'Mail server, such as smtp://user:password@mail.example.com:587, or log to print mails',
    fallback: 'log',
    problem(value, { url = '' }) {
      if (value === 'log' || value === 'log:')
        return isLocal(url) ? null : 'must be a mail server, because printed mails contain links that sign users in'
      return formats['mail-url'].matches(value) ? null : `must be log, or ${formats['mail-url'].expected}`
    },
  },
  {
    name: 'frontend',
    text: "Address of your front end, such as https://app.example.com, or pages to use svc's own pages",
    fallback: 'pages',
    problem(value, { url = '' }) {
      if (value === 'pages') return null
      if (!isOrigin(value)) return 'must be pages, or an origin without a path, such as https://app.example.com'
      if (!isPlainHost(new URL(value).hostname)) return 'must have a host name of letters, digits, dots and hyphens'
      if (new URL(value).protocol !== new URL(url).protocol) return 'must use the same scheme as svc'
      return areSameSite(new URL(url), new URL(value))
        ? null
        : 'must share a domain with svc, such as app.example.com and auth.example.com: browsers send the session cookie to no other site'
    },
  },
  {
    name: 'admin',
    text: 'Email address of the first administrator, or none',
    fallback: 'none',
    problem: (value) => (value === 'none' || isEmail(value) ? null : 'must be an email address, or none'),
  },
]

/** Other characters of URLs would have a meaning in the files of proxies. */
const isPlainHost = (hostname: string): boolean => /^(\[[\d:a-f]+\]|[a-z\d.-]+)$/.test(hostname)

/** Tests whether svc runs for its developer only. */
export const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)

/** Tests whether browsers send a session cookie of svc with requests that the front end makes. */
function areSameSite(svc: URL, frontend: URL): boolean {
  if (svc.hostname === frontend.hostname) return true
  const domain = commonDomain(svc.hostname, frontend.hostname)
  return domain.includes('.') && !isPublicSuffix(domain) && isWithin(frontend.hostname, domain)
}

/** Returns the checked answers. Throws if two of them exclude each other. */
export function answersOf(given: Given): Answers {
  const { deploy, proxy, database } = given
  const url = new URL(given.url)
  const frontend = given.frontend === 'pages' ? null : new URL(given.frontend)
  const isElsewhere = frontend !== null && frontend.hostname !== url.hostname
  if (deploy === 'helm' && proxy !== 'none')
    throw new CommandError('--proxy and --deploy=helm cannot be combined. The chart makes an Ingress.')
  return {
    url,
    database,
    mail: given.mail === 'log' ? 'log:' : given.mail,
    frontend,
    sessionDomain: isElsewhere ? `.${commonDomain(url.hostname, frontend.hostname)}` : null,
    admin: given.admin === 'none' ? null : given.admin,
    deploy,
    proxy,
  }
}
