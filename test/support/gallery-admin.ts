import type { FastifyReply } from 'fastify'
import { fieldOf, formBlockOf, rowOf, rowsOf, searchOf } from '../../src/features/admin/pages/blocks.ts'
import { menuOf, type SectionName } from '../../src/features/admin/pages/section-hooks.ts'
import type { AdminBlock, AdminPageData } from '../../src/pages/admin-page-data.ts'
import type { TextName } from '../../src/pages/texts.ts'
import { textsOf } from '../../src/pages/texts.ts'
import type { TextLookup } from '../../src/platform/http/texts.ts'
import { hostile, long } from './gallery-parts.ts'

type Section = AdminPageData['admin-section']

/** A page beside the menu of the admin pages. */
function inAdmin(
  reply: FastifyReply,
  current: SectionName | null,
  page: Partial<Section> | null,
  { notice = null, words = '' }: { notice?: string | null; words?: string } = {},
): FastifyReply {
  const menu = menuOf(reply.request, current)
  reply.menu = {
    ...menu,
    sections: menu.sections.map((section) => ({
      ...section,
      label: `${section.label} ${words}`,
      hint: `${section.hint} ${words}`,
    })),
    scripts: [],
    notice,
  }
  if (page === null) return reply.page('admin', {})
  const empty = { title: '', lead: null, back: null, result: null, blocks: [], errors: {} }
  return reply.page('admin-section', { ...empty, ...page })
}

const search = (text: TextLookup): AdminBlock =>
  searchOf('/admin/users', text('admin.search'), [
    fieldOf({ name: 'text', label: text('admin.name_or_email'), value: 'ada' }),
    fieldOf({
      ...{ name: 'state', label: text('admin.state'), kind: 'select', value: 'disabled' },
      options: (['active', 'disabled'] as const).map((value) => ({ value, label: text(`admin.state_${value}`) })),
    }),
  ])

const rows = (words: (text: string) => string, text: TextLookup, name: string, isLive: boolean): AdminBlock =>
  rowsOf({
    ...{ name, isLive, nextHref: '/admin/users?after=2' },
    rows: [1, 2].map((at) =>
      rowOf({
        title: words(`Ada Lovelace ${at}`),
        href: `/admin/users/${at}`,
        badges: [words('admin'), text('admin.disabled')],
        isFailure: at === 2,
        details: [words('ada@example.com'), { at: '2026-11-20T10:00:00Z', text: 'account-sessions.used' }],
        action: {
          action: `/admin/users/${at}/session/1`,
          label: text('account-sessions.end'),
          name: text('admin.action_name', { action: text('account-sessions.end'), name: words(`Firefox ${at}`) }),
        },
      }),
    ),
  })

const facts = (words: (text: string) => string, text: TextLookup): AdminBlock => ({
  kind: 'facts',
  facts: (['account-profile.email', 'admin.role', 'account.two-factor'] satisfies TextName[]).map((name) => ({
    label: text(name),
    value: words('ada@example.com'),
  })),
})

const actions = (text: TextLookup): AdminBlock => ({
  kind: 'links',
  heading: text('admin.actions'),
  links: (['reset_link', 'role', 'sign_out', 'disable', 'delete'] as const).map((name) => ({
    label: text(`admin.action_${name}`),
    href: `/admin/users/1/${name}`,
    isDanger: name === 'delete',
  })),
})

const asked = (text: TextLookup, heading: string | null): AdminBlock =>
  formBlockOf({
    ...{ name: 'change', heading, action: '/admin/users/1/disable' },
    fields: [
      fieldOf({ name: 'value', label: text('admin.role'), isRequired: true }),
      fieldOf({ name: 'reason', label: text('admin.reason'), hint: text('admin.reason_hint') }),
    ],
    ...{ submit: text('admin.action_disable'), isDanger: true, backHref: '/admin/users/1' },
  })

const plain = (text: string): string => text

/** The admin pages: each kind of block, alone and together. */
export const adminStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  admin: (reply) => inAdmin(reply, null, null),
  'admin-users': (reply) => {
    const text = textsOf(reply.request)
    return inAdmin(reply, 'users', {
      title: text('admin.users'),
      blocks: [search(text), rows(plain, text, 'users', false)],
    })
  },
  'admin-user': (reply) => {
    const text = textsOf(reply.request)
    const back = { label: text('admin.users'), href: '/admin/users' }
    const blocks = [facts(plain, text), actions(text), rows(plain, text, 'sessions', false)]
    return inAdmin(reply, 'users', { title: 'Ada Lovelace', back, blocks }, { notice: text('admin.done') })
  },
  'admin-action': (reply) => {
    const text = textsOf(reply.request)
    const [title, lead] = [text('admin.action_disable'), text('admin.about_disable')]
    const back = { label: 'Ada Lovelace', href: '/admin/users/1' }
    return inAdmin(reply, 'users', { title, lead, back, blocks: [asked(text, null)] })
  },
  'admin-action-failed': (reply) => {
    const text = textsOf(reply.request)
    const errors = { value: ['The role field is required.'] }
    return inAdmin(reply, 'users', { title: text('admin.action_role'), blocks: [asked(text, null)], errors })
  },
  'admin-events': (reply) => {
    const text = textsOf(reply.request)
    return inAdmin(reply, 'events', { title: text('admin.events'), blocks: [rows(plain, text, 'trail', true)] })
  },
  'admin-guard': (reply) => {
    const text = textsOf(reply.request)
    const result = { text: text('admin.denied', { status: 403, reason: 'Forbidden' }), isGood: false }
    return inAdmin(reply, 'guard', { title: text('admin.guard'), lead: text('admin.read_only'), result, blocks: [] })
  },
  'admin-hostile': (reply) => {
    const text = textsOf(reply.request)
    const words = (given: string) => hostile + given + long
    const back = { label: words(''), href: '/admin/users' }
    const result = { text: words(''), isGood: true }
    const blocks = [
      search(text),
      facts(words, text),
      actions(text),
      rows(words, text, 'users', true),
      rowsOf({ name: 'none', rows: [], nextHref: '/admin/users?after=2' }),
      asked(text, words('')),
    ]
    const page = { title: words(''), lead: words(''), back, result, blocks, errors: { value: [words('')] } }
    return inAdmin(reply, 'users', page, { notice: words(''), words: hostile + long })
  },
}
