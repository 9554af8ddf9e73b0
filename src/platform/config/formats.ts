import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'

interface Format {
  expected: string
  matches: (text: string) => boolean
}

/** Format that one feature declares. */
export interface NamedFormat extends Format {
  name: string
}

/** Formats of text values, each with the description that error messages use. */
export const formats = {
  origin: {
    expected: 'an http or https origin without a path, such as https://auth.example.com',
    matches: isOrigin,
  },
  // svc calls these URLs, and fetch rejects credentials in them.
  'web-url': {
    expected: 'an http or https URL without a user name and password',
    matches: (text) => isWebUrl(text) && !hasCredentials(text),
  },
  'https-url': { expected: 'an https URL', matches: (text) => isWebUrl(text) && hasProtocol(text, ['https:']) },
  'image-url': {
    expected: 'an https URL, or data:image/png;base64,… (also gif, jpeg, svg+xml or webp)',
    matches: (text) =>
      /^data:image\/(gif|jpeg|png|svg\+xml|webp);base64,[A-Za-z\d+/]+={0,2}$/.test(text) ||
      (isWebUrl(text) && hasProtocol(text, ['https:'])),
  },
  cidr: { expected: 'an address range such as 10.0.0.0/8 or fd00::/8', matches: isCidr },
  'stateful-host': {
    expected: 'a host with an optional port, such as app.example.com, *.example.com:8443 or [::1]:3000',
    matches: isStatefulHost,
  },
  'cookie-name': {
    expected: "a cookie name: letters, digits and any of !#$%&'*+-.^_`|~",
    matches: (text) => /^[\w!#$%&'*+\-.^`|~]+$/.test(text),
  },
  domain: {
    expected: 'a domain such as example.com or .example.com',
    matches: (text) => isHostName(text.startsWith('.') ? text.slice(1) : text),
  },
  'email-domain': {
    expected: 'a domain such as example.com, or *.example.com for its subdomains',
    matches: (text) => isEmailDomain(text.startsWith('*.') ? text.slice(2) : text),
  },
  'database-url': {
    expected: 'file:<path> (SQLite in memory is not supported) or postgresql://user:password@host:port/name',
    matches: isDatabaseUrl,
  },
  'redis-url': { expected: 'redis://… or rediss://…', matches: (text) => hasProtocol(text, ['redis:', 'rediss:']) },
  'proxy-url': {
    expected: 'http://host:port or https://host:port, with an optional user and password',
    matches: (text) => hasProtocol(text, ['http:', 'https:']),
  },
  'host-port': {
    expected: 'a host with an optional port, such as sentinel.internal:26379 or [::1]:26379',
    matches: (text) => isStatefulHost(text) && !text.includes('*'),
  },
  'mail-url': { expected: 'log:, file:<directory> or smtp(s)://user:password@host:port', matches: isMailUrl },
  'export-target': {
    expected:
      'stdout:, file:<path>, syslog+tls://host:port, syslog+tcp://host:port, syslog+udp://host:port or syslog+unix:<absolute path>',
    matches: isExportTarget,
  },
  mailbox: { expected: 'an address such as svc <no-reply@example.com>', matches: isMailbox },
  link: {
    expected: 'a path that begins with a single slash, {frontend_url}/…, or an http or https URL',
    matches: (text) => /^(\/(?!\/)|\{frontend_url\}(\/|$)|https?:\/\/)[^\s\\]*$/.test(text),
  },
  'absolute-uri': { expected: 'an absolute URI', matches: (text) => URL.canParse(text) },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof formats

export function isOrigin(text: string): boolean {
  if (!isWebUrl(text)) return false
  const url = new URL(text)
  return /^https?:\/\/[^/?#@\\]+\/?$/i.test(text) && url.pathname === '/'
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\/[^/\s]/i.test(text) && hasProtocol(text, ['http:', 'https:'])
}

function hasCredentials(text: string): boolean {
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== ''
}

function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

function isStatefulHost(text: string): boolean {
  if (isIP(text) === 6) return true
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text)
  if (bracketed) return isIP(bracketed[1] ?? '') === 6 && isPort(bracketed[2])
  const [host = '', port, ...rest] = text.split(':')
  return rest.length === 0 && isPort(port) && isHostName(host.replaceAll('*', 'x'))
}

function isPort(text: string | undefined): boolean {
  return text === undefined || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535)
}

function isHostName(text: string): boolean {
  if (/^[\d.]+$/.test(text)) return isIPv4(text)
  return text.length <= 253 && /^[a-z\d_]([a-z\d_-]*[a-z\d_])?(\.[a-z\d_]([a-z\d_-]*[a-z\d_])?)*$/i.test(text)
}

/** Tests for a domain of mail addresses, also in international spelling. */
function isEmailDomain(text: string): boolean {
  return text === text.trim() && !/[*@:/]/.test(text) && isHostName(domainToASCII(text))
}

/**
 * Tests for the URL of a database. Rejects SQLite in memory, because svc opens several connections, which would not share
 * the data. Also rejects directories and remote hosts.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!text.startsWith('file:')) return hasProtocol(text, ['postgresql:', 'postgres:'])
  const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '')
  const name = path.split('/').at(-1) ?? ''
  const isFile = !['', '.', '..', ':memory:'].includes(name.trim().toLowerCase())
  return isFile && !path.startsWith('//') && path === path.trim() && !/[?#\p{Cc}]/u.test(path)
}

function isMailUrl(text: string): boolean {
  return text === 'log:' || /^file:.+/.test(text) || hasProtocol(text, ['smtp:', 'smtps:'])
}

function isExportTarget(text: string): boolean {
  if (text === 'stdout:' || /^(file:(?!\/\/)|syslog\+unix:\/(?!\/))[^\p{Cc}]+$/u.test(text)) return true
  const url = URL.parse(text)
  const isSyslog = /^syslog\+(udp|tcp|tls):\/\/[^/?#@]+\/?$/.test(text)
  return isSyslog && url !== null && url.hostname !== '' && isPort(url.port || undefined)
}

function isMailbox(text: string): boolean {
  return /^([^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(text)
}
