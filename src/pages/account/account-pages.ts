import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../platform/config/schema.ts'
import { type AccountPageName, accountPageNames } from '../../platform/config/sections/accounts.ts'
import { type HttpError, needsSignIn, notFound } from '../../platform/errors.ts'
import { withReturn } from '../continuation.ts'
import { accountPage, confirmPage, ownLink, signInPage, signOutPath } from '../links.ts'
import type { PageMenu } from '../page-data.ts'
import { addPages } from '../pages.ts'
import { isTextName, textsOf } from '../texts.ts'

/** What a feature adds to the account pages. */
export interface AccountSections {
  /** Names of its sections. */
  accountPages?(config: Config): readonly AccountPageName[]
  /** Returns the name of a script that the account pages run after each change; null for none. */
  changeScript?(config: Config): string | null
}

/** Path of a section. */
export const sectionPath = (name: AccountPageName): string => `${accountPage}/${name}`

/** The sections that features add and the configuration shows, in order. */
export function sectionsOf(features: readonly AccountSections[], config: Config): readonly AccountPageName[] {
  const added = features.flatMap((feature) => feature.accountPages?.(config) ?? [])
  return accountPageNames.filter(
    (name) => added.includes(name) && (config.account.sections === null || config.account.sections.includes(name)),
  )
}

/** Link to the account pages, of the application or svc; null if the configuration turns them off. */
export function accountHref(features: readonly AccountSections[], config: Config): string | null {
  if (config.links.account !== null) return config.links.account
  return sectionsOf(features, config).length > 0 ? accountPage : null
}

/**
 * Returns the page where a user proves a second factor and then returns: a new sign-in asks for it. Otherwise the account page
 * that sets one up; null without that page.
 */
export function twoFactorPage(
  features: readonly AccountSections[],
  config: Config,
  { returnTo, isEnrolled }: { returnTo: string; isEnrolled: boolean },
): string | null {
  if (isEnrolled) return `${signInPage(config, returnTo)}&prompt=login`
  const isShown = config.links.account === null && sectionsOf(features, config).includes('two-factor')
  return isShown ? ownLink(config, withReturn(sectionPath('two-factor'), returnTo)) : null
}

/** Configuration of every route of the account pages. */
export const ownAccount = {
  access: { family: 'session', caller: 'required' },
  unverified: 'allowed',
  alsoAnswers: [404],
} as const

/** Configuration of routes that require a verified address where the configuration does. */
export const verifiedAccount = { access: ownAccount.access, alsoAnswers: ownAccount.alsoAnswers } as const

/**
 * Adds to a scope what every section of the account pages needs, or their overview (null): the menu, and redirects to the
 * pages that sign in and confirm the password. Answers 404 if the configuration hides the section. With `links.account`,
 * GET redirects there.
 */
export async function addAccountPages(scope: FastifyInstance, name: AccountPageName | null): Promise<void> {
  const home = name === null ? accountPage : sectionPath(name)
  await addPages(scope, { redirectFor: (error, request) => remedyOf(error, request, home) })

  scope.addHook('onRequest', async (request, reply) => {
    const { app, links } = scope.config.current()
    if (links.account !== null && request.method === 'GET') {
      return reply.redirect(new URL(links.account, app.url).href, 302)
    }
  })

  // After the caller is known, like every 404 of a route that requires one.
  scope.addHook('preValidation', async () => {
    const sections = sectionsOf(scope.features, scope.config.current())
    if (name === null ? sections.length === 0 : !sections.includes(name)) throw notFound()
  })

  scope.addHook('preHandler', async (request, reply) => {
    reply.menu = menuOf(request, name)
  })
}

/** The page where a user signs in or confirms the password, and then returns. A form returns to its section. */
export function remedyOf(error: HttpError, request: FastifyRequest, home: string): string | null {
  const returnTo = request.method === 'GET' ? request.url : home
  if (needsSignIn(error)) return signInPage(request.server.config.current(), returnTo)
  if (error.code === 'password_confirmation_required') return withReturn(confirmPage, returnTo)
  return null
}

function menuOf(request: FastifyRequest, current: AccountPageName | null): PageMenu {
  const { server, query } = request
  const config = server.config.current()
  const text = textsOf(request)
  const { done } = query as { done?: unknown }
  const notice = `account.done_${done}`
  return {
    label: text('account.menu'),
    home: { label: text('account.title'), href: accountPage },
    scripts: isTextName(notice) ? server.features.flatMap((feature) => feature.changeScript?.(config) ?? []) : [],
    sections: sectionsOf(server.features, config).map((name) => ({
      name,
      label: text(`account.${name}`),
      hint: text(`account.${name}_hint`),
      href: sectionPath(name),
      isCurrent: name === current,
    })),
    notice: isTextName(notice) ? text(notice) : null,
    signOutAction: signOutPath,
  }
}

/** The address of a page with a notice: the text `account.done_<name>`. */
export const done = (path: string, name: string): string => `${path}?done=${name}`
