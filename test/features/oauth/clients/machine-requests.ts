import type { InjectOptions } from 'fastify'
import { chance, pick } from '../../../platform/http/odd-requests.ts'
import type { Settings } from '../../../support/app.ts'
import { basic, machine, secret } from './parties.ts'

const api = (name: string, more: object = {}) => ({
  audience: `https://${name}.example`,
  scopes: [`${name}:read`, `${name}:write`],
  ...more,
})

/** Settings with clients that differ in everything that decides about a client credentials request. */
export const settings: Settings = {
  scopes: { 'orders:read': 'Read your orders', 'orders:write': 'Change your orders' },
  apis: {
    stock: api('stock', { algorithm: 'RS256', token_ttl: '5m' }),
    mail: api('mail', { algorithm: 'EdDSA' }),
    listed: api('listed', { status_list: true }),
  },
  rate_limits: { token: null },
}

export const clients: Settings[] = [
  machine('plain'),
  machine('several', { secret, scopes: ['orders:read', 'orders:write', 'stock:read', 'mail:read'] }),
  machine('mailer', { secret, scopes: ['mail:read', 'mail:write'], access_token_ttl: '90s' }),
  machine('listed', { secret, scopes: ['listed:read'] }),
  machine('roles', { secret, scopes: ['orders:read', 'roles'], audience: 'an audience' }),
  machine('no-scopes', { secret, scopes: [] }),
  machine('header-only', { secret, token_endpoint_auth_method: 'client_secret_basic' }),
  machine('body-only', { secret, token_endpoint_auth_method: 'client_secret_post' }),
  machine('odd+secret', { secret: 'a secret: with 100% &= + and more' }),
  machine('bound', { secret, dpop: true }),
  machine('other-grant', { secret, grants: ['password'] }),
  { client_id: 'public', type: 'public', grants: ['device_code'] },
]

/** Picks `usual` most of the time. */
const mostly = <Value>(usual: Value, others: readonly Value[]): Value => (chance(0.9) ? usual : pick(others))

const scopes = [
  ...['orders:read', 'orders:write', 'orders:read orders:write', 'orders:write orders:read orders:read', 'stock:read'],
  ...['mail:read', 'mail:write mail:read', 'listed:read', 'roles', 'openid', 'openid orders:read', 'offline_access'],
  ...[
    'orders:read stock:read',
    'unknown',
    'unknown orders:read',
    'stock:write',
    '',
    ' ',
    'orders:read ',
    ' orders:read',
  ],
  ...['orders:read  orders:write', 'a"b', 'ü', 'orders:read\tstock:read', '\0', '*'],
]

const resources = [
  ...['https://stock.example', 'https://stock.example/', 'https://STOCK.example', 'https://mail.example'],
  ...['https://listed.example', 'http://localhost:8000', 'http://localhost:8000/', 'urn:svc:audience:an%20audience'],
  ...['https://unknown.example', 'https://stock.example/#part', 'https://stock.example?x', 'no URI', ''],
]

const otherFields: readonly [string, string][] = [
  ['state', 'x'],
  ['audience', 'https://stock.example'],
  ['client_assertion', 'a.b.c'],
  ['client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
  ['authorization_details', '[]'],
  ['_method', 'DELETE'],
  ['', ''],
]

const otherHeaders: readonly Record<string, string>[] = [
  { origin: 'https://page.example' },
  { dpop: 'a.b.c' },
  { 'oauth-client-attestation': 'a.b.c' },
  { accept: 'text/html', 'sec-fetch-mode': 'navigate' },
  { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
  { 'content-type': 'Application/X-WWW-Form-URLencoded' },
  { authorization: 'Bearer x' },
  { authorization: 'Basic !' },
  { authorization: 'Basic cGxhaW4=' },
]

/** Spellings of a form that mean the same, and some that are broken. */
const respelled: readonly ((form: string) => string)[] = [
  (form) => form.replaceAll('+', '%20'),
  (form) => form.replaceAll('%3A', ':'),
  (form) => `${form}&`,
  (form) => `&${form}`,
  (form) => form.replace('client_id', 'client%5Fid'),
  (form) => form.replace('orders', '%6frders'),
  (form) => form.replace('=', ''),
  (form) => `${form}%zz`,
  (form) => `${form}%ff`,
  (form) => `${form};x=y`,
]

/** A random client credentials request, usual in most respects. */
export function machineRequest(): InjectOptions {
  const client = pick(clients)
  const id = mostly(String(client.client_id), ['unknown', '', 'plain', 'a\0b'])
  const sent = mostly(String(client.secret ?? secret), ['wrong', '', secret])
  const how = pick(['post', 'post', 'post', 'basic', 'basic', 'basic', 'both', 'id only'])
  const inHeader = how === 'basic' || how === 'both'
  const inBody = how === 'post' || how === 'both'
  const fields: [string, string][] = [['grant_type', mostly('client_credentials', ['', 'password', 'x'])]]
  if (!inHeader || chance(0.2)) fields.push(['client_id', id])
  if (inBody) fields.push(['client_secret', sent])
  if (chance(0.7)) fields.push(['scope', mostly([client.scopes ?? ''].flat().join(' '), scopes)])
  if (chance(0.15)) fields.push(['resource', pick(resources)])
  if (chance(0.05)) fields.push(pick(otherFields))
  if (chance(0.05)) fields.push(pick(fields))
  if (chance(0.5)) fields.reverse()
  const form = new URLSearchParams(fields).toString()
  return {
    method: 'POST',
    url: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(inHeader ? basic(id, sent) : {}),
      ...(chance(0.08) ? pick(otherHeaders) : {}),
    },
    payload: chance(0.1) ? pick(respelled)(form) : form,
  }
}
