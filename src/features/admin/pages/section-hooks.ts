import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireUser } from '../../../auth/access/caller.ts'
import { remedyOf, twoFactorPage } from '../../../pages/account/account-pages.ts'
import type { AdminPageData } from '../../../pages/admin-page-data.ts'
import { type FormState, fresh } from '../../../pages/form-page.ts'
import { adminPage, signOutPath } from '../../../pages/links.ts'
import type { PageMenu } from '../../../pages/page-data.ts'
import { addPages } from '../../../pages/pages.ts'
import { textsOf } from '../../../pages/texts.ts'
import { notFound, secondFactorRequired } from '../../../platform/errors.ts'
import { typedText } from '../../../platform/http/fields.ts'
import { withoutControls } from '../../../platform/http/formats.ts'
import { isNavigation } from '../../../platform/http/navigation.ts'

/** The sections of the admin pages, in the order of their menu. */
const sectionNames = [
  'users',
  'invitations',
  'groups',
  'events',
  'clients',
  'providers',
  'guard',
  'keys',
  'deliveries',
  'configuration',
] as const

export type SectionName = (typeof sectionNames)[number]

/** Path of a section. */
export const adminSection = (name: SectionName): string => `${adminPage}/${name}`

/** Path of the page of a user. */
export const userPath = (id: number | string): string => `${adminSection('users')}/${id}`

/** Configuration of every route of the admin pages: administrators with a session and a recent confirmation. */
export const ownPages = {
  access: { family: 'session', caller: 'required', administrator: 'changes' },
  limit: 'admin',
  alsoAnswers: [404],
} as const

/**
 * Adds to a scope what every section needs, or the overview (null): the menu, the requirement of a second factor, and
 * redirects to the pages that satisfy the requirements. Answers 404 unless `admin.pages` is on.
 */
export async function addAdminPages(scope: FastifyInstance, name: SectionName | null): Promise<void> {
  const home = name === null ? adminPage : adminSection(name)
  await addPages(scope, { redirectFor: (error, request) => remedyOf(error, request, home) })

  scope.addHook('onRoute', (route) => {
    // The description lists the admin API, which does the same for programs.
    route.schema = { ...route.schema, hide: true }
  })

  // After the caller is known, like every 404 of a route that requires one.
  scope.addHook('preValidation', async (request, reply) => {
    if (!scope.config.current().admin.pages) throw notFound()
    if (request.session.proof?.methods.includes('mfa')) return
    const page = await secondFactorPage(request, request.method === 'GET' ? request.url : home)
    if (page === null || !isNavigation(request)) throw secondFactorRequired()
    return reply.redirect(page, 303)
  })

  scope.addHook('preHandler', async (request, reply) => {
    reply.menu = menuOf(request, name)
  })
}

/** Returns the address where the user enters a second factor or sets one up; null if no page offers that. */
async function secondFactorPage(request: FastifyRequest, returnTo: string): Promise<string | null> {
  const { server: app } = request
  const { id, two_factor_enabled } = requireUser(request)
  const config = app.config.current()
  const others = app.features.map(({ stepUp }) => stepUp?.isEnrolled(app, id))
  const isEnrolled = two_factor_enabled || (await Promise.all(others)).includes(true)
  return twoFactorPage(app.features, config, { returnTo, isEnrolled })
}

/** Returns the menu of the admin pages. */
export function menuOf(request: FastifyRequest, current: SectionName | null): PageMenu {
  const text = textsOf(request)
  const { done } = request.query as { done?: unknown }
  return {
    label: text('admin.title'),
    home: { label: text('admin.title'), href: adminPage },
    sections: sectionNames.map((name) => ({
      name,
      label: text(`admin.${name}`),
      hint: text(`admin.${name}_hint`),
      href: adminSection(name),
      isCurrent: name === current,
    })),
    scripts: current === 'events' ? ['admin-follow.js'] : [],
    notice: done === '1' ? text('admin.done') : null,
    signOutAction: signOutPath,
  }
}

/** Returns the address of a page with the notice that the change was made. */
export const changed = (path: string): string => `${path}?done=1`

type Section = AdminPageData['admin-section']

/** Sends a page of a section. */
export const sendSection = (
  reply: FastifyReply,
  page: Pick<Section, 'title' | 'blocks'> & Partial<Section>,
  { errors, status }: FormState = fresh,
): FastifyReply => reply.page('admin-section', { lead: null, back: null, result: null, ...page, errors }, status)

/** Returns a text of a query without control characters, which PostgreSQL rejects. */
export const queryText = (value: unknown): string => withoutControls(typedText(value)).trim().slice(0, 255)

/** Reads the id of the last record of the previous page; 0 for the first page. */
export const cursorIn = (value: unknown): number => (/^\d{1,15}$/.test(typedText(value)) ? Number(value) : 0)
