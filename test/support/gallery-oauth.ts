import type { FastifyReply } from 'fastify'
import { showApplication } from '../../src/pages/continuation.ts'
import type { PageData } from '../../src/pages/page-data.ts'
import { ada, hostile, hostileApplication, long, orders } from './gallery-parts.ts'

const consent: PageData['consent'] = {
  action: '/oauth/interaction/abc',
  client: 'Example Orders',
  host: 'orders.example.com',
  user: ada,
  scopes: [
    { name: 'orders:read', description: 'Read your orders' },
    { name: 'server:update', description: 'Change your servers' },
    { name: 'offline_access', description: '' },
  ],
  switchHref: '/oauth/login?return_to=/oauth/interaction/abc',
}
const selectAccount: PageData['select-account'] = {
  action: '/oauth/interaction/abc',
  client: 'Example Orders',
  user: ada,
  switchHref: '/oauth/login?return_to=/oauth/interaction/abc',
}
const device: PageData['device'] = { action: '/oauth/device', secret: 'secret', userCode: '', error: null }
const deviceConfirm: PageData['device-confirm'] = {
  action: '/oauth/device',
  secret: 'secret',
  userCode: 'WDJB-MJHT',
  client: 'Example TV',
  ipAddress: '2001:db8::8a2e:370:7334',
  userAgent:
    'Mozilla/5.0 (Linux; Android 14; BRAVIA 4K VH2) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
}
const logout: PageData['logout'] = {
  action: '/oauth/logout/confirm',
  secret: 'secret',
  client: 'Example Orders',
  user: 'ada@example.com',
}

/** The pages of OAuth in each of their states. */
export const oauthStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  consent: (reply) => reply.page('consent', consent),
  'select-account': (reply) => reply.page('select-account', selectAccount),
  'consent-application': (reply) => {
    showApplication(reply, orders)
    return reply.page('consent', consent)
  },
  'consent-bare': (reply) => reply.page('consent', { ...consent, host: null, scopes: [] }),
  'consent-unregistered': (reply) =>
    reply.page('consent', {
      ...consent,
      client: 'agents.example',
      host: 'agents.example',
      claim: 'Example Agent',
      isUnregistered: true,
    }),
  'consent-unregistered-local': (reply) =>
    reply.page('consent', {
      ...consent,
      client: 'editor.example',
      host: null,
      claim: 'Example Code Editor',
      isUnregistered: true,
    }),
  'consent-hostile': (reply) => {
    showApplication(reply, hostileApplication)
    return reply.page('consent', {
      action: hostile,
      client: hostile + long,
      host: hostile + long,
      user: { name: hostile + long, email: hostile + long },
      scopes: [
        { name: hostile, description: hostile + long },
        { name: hostile + long, description: '' },
      ],
      switchHref: hostile,
    })
  },
  device: (reply) => reply.page('device', device),
  'device-aborted': (reply) => reply.page('device', { ...device, error: 'aborted' }),
  'device-expired': (reply) => reply.page('device', { ...device, userCode: 'WDJB-MJHT', error: 'expired' }),
  'device-unknown': (reply) => reply.page('device', { ...device, userCode: 'WDJB-MJHT', error: 'unknown' }),
  'device-hostile': (reply) =>
    reply.page('device', { action: hostile, secret: hostile, userCode: hostile + long, error: 'unknown' }),
  'device-confirm': (reply) => reply.page('device-confirm', deviceConfirm),
  'device-confirm-application': (reply) => {
    showApplication(reply, orders)
    return reply.page('device-confirm', { ...deviceConfirm, client: orders.name })
  },
  'device-confirm-bare': (reply) =>
    reply.page('device-confirm', { ...deviceConfirm, ipAddress: null, userAgent: null }),
  'device-confirm-hostile': (reply) =>
    reply.page('device-confirm', {
      action: hostile,
      secret: hostile,
      userCode: hostile + long,
      client: hostile + long,
      ipAddress: hostile + long,
      userAgent: hostile + long,
    }),
  'device-done': (reply) => reply.page('device-done', { client: 'Example TV' }),
  'device-done-hostile': (reply) => reply.page('device-done', { client: hostile + long }),
  logout: (reply) => reply.page('logout', logout),
  'logout-bare': (reply) => reply.page('logout', { ...logout, client: null, user: null }),
  'logout-hostile': (reply) =>
    reply.page('logout', { action: hostile, secret: hostile, client: hostile + long, user: hostile + long }),
  'logged-out': (reply) => reply.page('logged-out', { href: '/' }),
  'logged-out-hostile': (reply) => reply.page('logged-out', { href: hostile }),
}
