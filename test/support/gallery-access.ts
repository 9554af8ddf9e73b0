import type { FastifyReply } from 'fastify'
import { brandingOf } from '../../src/features/social/buttons.ts'
import type { AccessPageData } from '../../src/pages/access-page-data.ts'
import { textsOf } from '../../src/pages/texts.ts'
import { inAccount } from './gallery-menu.ts'
import { hostile, long } from './gallery-parts.ts'

type Token = AccessPageData['account-token-list']['tokens'][number]
type Application = AccessPageData['account-applications']['applications'][number]

const at = '2026-11-22T10:00:00.000000Z'
const shop: Application = {
  action: '/account/applications/1/disconnect',
  name: 'The Web Shop',
  claim: null,
  scopes: ['Know who you are', 'See your orders'],
  createdAt: at,
  expiresAt: null,
}
const hostileApplication = {
  ...shop,
  action: hostile,
  name: hostile + long,
  claim: hostile + long,
  scopes: [hostile + long],
  expiresAt: at,
}

const agent: AccessPageData['account-applications']['agents'][number] = {
  action: '/account/applications/agents/support/end',
  name: 'Support assistant',
  scopes: ['See your orders'],
  usedAt: at,
  endedAt: null,
}
const hostileAgent = { ...agent, action: hostile, name: hostile + long, scopes: [hostile + long] }

const token: Token = {
  action: '/account/tokens/1/revoke',
  name: 'Backup script',
  abilities: ['orders:read', 'orders:write'],
  createdAt: at,
  lastUsedAt: null,
  expiresAt: at,
  isExpired: false,
}
const listOf = (reply: FastifyReply, tokens: readonly Token[]): AccessPageData['account-token-list'] => {
  const text = textsOf(reply.request)
  const words = {
    title: text('account-tokens.title'),
    lead: text('account-tokens.lead'),
    none: text('account-tokens.none'),
  }
  return { ...words, tokens, newHref: '/account/tokens/new', nextHref: null }
}
const formOf = (reply: FastifyReply): AccessPageData['account-token-new'] => ({
  title: textsOf(reply.request)('account-tokens.new'),
  action: '/account/tokens/new',
  name: '',
  choices: [
    { value: '*', label: textsOf(reply.request)('account-token-new.everything'), hint: null, isChosen: false },
    { value: 'orders:read', label: 'See your orders', hint: 'orders:read', isChosen: true },
  ],
  lifetimes: [7, 30, 90, 365],
  lifetime: '90',
  latestAt: null,
  errors: {},
  backHref: '/account/tokens',
})

type Activity = AccessPageData['account-activity']['events'][number]

const signInOf = (reply: FastifyReply, name: 'event.login' | 'event.login_failed' = 'event.login'): Activity => ({
  label: textsOf(reply.request)(name),
  isFailure: name === 'event.login_failed',
  subject: null,
  at,
  times: 1,
  browser: 'Firefox on Linux',
  ipAddress: '2001:db8::8a2e:370:7334',
})

const providers: AccessPageData['account-providers'] = {
  links: [{ action: '/x', label: 'GitHub', account: 'ada@example.com', createdAt: at, lastUsedAt: at }],
  providers: ['google', 'microsoft', 'apple', 'facebook', 'linkedin', 'github', 'acme'].map((id) => ({
    action: '/x',
    ...brandingOf({ id, label: id }),
  })),
  confirmHref: null,
  errors: {},
}

/** The account pages about access, in each of their states. */
export const accessStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  'account-applications': (reply) =>
    inAccount(reply, 'account-applications', {
      applications: [shop],
      agents: [agent, { ...agent, name: 'Research agent', endedAt: at }],
      nextHref: null,
    }),
  'account-applications-none': (reply) =>
    inAccount(reply, 'account-applications', { applications: [], agents: [], nextHref: null }),
  'account-applications-many': (reply) =>
    inAccount(
      reply,
      'account-applications',
      {
        applications: Array.from({ length: 12 }, (_, index) => ({
          ...shop,
          name: `App ${index}`,
          scopes: index % 2 ? [] : shop.scopes,
          expiresAt: at,
        })),
        agents: [],
        nextHref: '/account/applications?after=1',
      },
      { notice: textsOf(reply.request)('account.done_disconnected') },
    ),
  'account-applications-hostile': (reply) =>
    inAccount(reply, 'account-applications', {
      applications: [hostileApplication],
      agents: [hostileAgent],
      nextHref: hostile,
    }),
  'account-token-list': (reply) => inAccount(reply, 'account-token-list', listOf(reply, [token])),
  'account-token-list-none': (reply) => inAccount(reply, 'account-token-list', listOf(reply, [])),
  'account-token-list-many': (reply) =>
    inAccount(reply, 'account-token-list', {
      ...listOf(reply, [
        token,
        { ...token, isExpired: true },
        { ...token, abilities: [], expiresAt: null, lastUsedAt: at },
        { action: token.action, name: 'Old', abilities: ['*'], createdAt: null, expiresAt: null, isExpired: false },
      ]),
      nextHref: '/account/tokens?after=1',
    }),
  'account-token-list-hostile': (reply) =>
    inAccount(reply, 'account-token-list', {
      title: hostile,
      lead: hostile + long,
      none: hostile,
      tokens: [{ ...token, action: hostile, name: hostile + long, abilities: [hostile, long, long] }],
      newHref: hostile,
      nextHref: hostile,
    }),
  'account-token-new': (reply) => inAccount(reply, 'account-token-new', formOf(reply)),
  'account-token-new-fixed': (reply) =>
    inAccount(reply, 'account-token-new', {
      ...formOf(reply),
      lifetimes: [],
      latestAt: at,
      errors: { name: ['The name field is required.'] },
    }),
  'account-token-new-hostile': (reply) =>
    inAccount(reply, 'account-token-new', {
      title: hostile + long,
      action: hostile,
      name: hostile + long,
      choices: [{ value: hostile, label: hostile + long, hint: hostile + long, isChosen: true }],
      lifetimes: [1],
      lifetime: hostile,
      latestAt: at,
      errors: { abilities: [hostile + long], name: [hostile] },
      backHref: hostile,
    }),
  'account-token': (reply) =>
    inAccount(reply, 'account-token', { name: 'Backup', token: '12|aBcDeFgHiJkLmNoPqRsTuVwXyZ', backHref: '/x' }),
  'account-token-hostile': (reply) =>
    inAccount(reply, 'account-token', { name: hostile + long, token: long + long + long, backHref: hostile }),
  'account-activity': (reply) => inAccount(reply, 'account-activity', { events: [signInOf(reply)], nextHref: null }),
  'account-activity-none': (reply) => inAccount(reply, 'account-activity', { events: [], nextHref: null }),
  'account-activity-many': (reply) =>
    inAccount(reply, 'account-activity', {
      events: [
        signInOf(reply),
        { ...signInOf(reply, 'event.login_failed'), times: 12 },
        { ...signInOf(reply), browser: null, ipAddress: null },
      ],
      nextHref: '/account/activity?before=1',
    }),
  'account-activity-hostile': (reply) =>
    inAccount(reply, 'account-activity', {
      events: [
        { ...signInOf(reply), label: hostile, subject: hostile + long, times: 1e9, browser: long, ipAddress: hostile },
      ],
      nextHref: hostile,
    }),
  'account-providers': (reply) => inAccount(reply, 'account-providers', providers),
  'account-providers-none': (reply) =>
    inAccount(reply, 'account-providers', { ...providers, links: [], confirmHref: '/account/confirm' }),
  'account-providers-hostile': (reply) =>
    inAccount(reply, 'account-providers', {
      links: [{ action: hostile, label: hostile + long, account: hostile + long, createdAt: null, lastUsedAt: null }],
      providers: [{ action: hostile, ...brandingOf({ id: hostile, label: hostile + long }) }],
      confirmHref: null,
      errors: { link: [hostile + long] },
    }),
}
