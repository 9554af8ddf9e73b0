import { join } from 'node:path'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../platform/config/schema.ts'
import { type FieldErrors, type HttpError, needsSignIn } from '../platform/errors.ts'
import { answerOf, sendError } from '../platform/http/error-handler.ts'
import { languageOf } from '../platform/http/language.ts'
import { isNavigation } from '../platform/http/navigation.ts'
import { localPath } from '../platform/http/return-to.ts'
import { type TextLookup, textsIn } from '../platform/http/texts.ts'
import { varyBy } from '../platform/http/vary.ts'
import { translateErrors, translateMessage } from '../platform/languages/api-messages.ts'
import { translateBrowser } from '../platform/languages/browsers.ts'
import { formatDate, formatRelative } from '../platform/languages/dates.ts'
import { directionOf, type Language } from '../platform/languages/languages.ts'
import { Templates } from '../platform/templates.ts'
import { destinationAfterForm } from './after-form.ts'
import { withReturn } from './continuation.ts'
import type { FormField } from './form-fields.ts'
import { icon } from './icons.ts'
import { languageSwitch } from './language-switch.ts'
import { resendPage, signInPage, signOutPath, startPage, termsPage } from './links.ts'
import type { PageData, PageMenu, PageName } from './page-data.ts'
import { addPageHeaders } from './page-headers.ts'
import type { PagePart } from './page-part.ts'
import { isTextName, type TextName, textsOf } from './texts.ts'
import { colorStyle } from './theme.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that browsers open. `page` also answers errors as pages, `redirect` leads to a page. */
    navigation?: 'page' | 'redirect'
  }
  interface FastifyReply {
    /** Menu beside the page, in the account pages. */
    menu?: PageMenu
    /** Sends a page of svc, with status 200 by default. Available in scopes that called `addPages`. */
    page<Name extends PageName>(name: Name, data: PageData[Name], status?: number): FastifyReply
  }
}

/** A page among a route's responses, for the API description. Operations share it by its name. */
const pageAnswer = (name: string, description: string) => ({
  description: `#${name} ${description}`,
  content: { 'text/html': { schema: { type: 'string' } } },
})

export const pageAnswers = {
  page: pageAnswer('Page', 'An HTML page.'),
  refused: pageAnswer(
    'RefusedPage',
    'The link is invalid, expired or used, or the change is no longer possible. A page says why.',
  ),
}

const templates = new Templates(join(import.meta.dirname, 'templates'))

interface PageOptions {
  /** Returns the page that resolves an error, to redirect browsers there; null shows the error page. */
  redirectFor?: (error: HttpError, request: FastifyRequest) => string | null
}

/**
 * Turns a scope into one of pages: security headers, `reply.page`, and error pages for browser navigations. Other
 * clients still get JSON.
 */
export async function addPages(scope: FastifyInstance, { redirectFor = () => null }: PageOptions = {}): Promise<void> {
  await addPageHeaders(scope)
  scope.addHook('onSend', async (request, reply, payload) => {
    const address = reply.getHeader('location')
    if (request.method !== 'POST' || isEntry(request) || reply.statusCode !== 303 || typeof address !== 'string')
      return payload
    const page = pageAfterForm(reply, address)
    if (page === null) return payload
    reply.removeHeader('location')
    reply.code(200).type('text/html; charset=utf-8').header('refresh', page.refresh)
    return page.html
  })
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, navigation: 'page' }
  })
  scope.decorateReply('page', function page<
    Name extends PageName,
  >(this: FastifyReply, name: Name, data: PageData[Name], status = 200) {
    return sendPage(this, name, data, status)
  })
  scope.setErrorHandler((error: FastifyError | HttpError, request, reply) => {
    const answer = answerOf(error, request)
    if (!isNavigation(request)) return sendError(reply, answer)
    const page = redirectFor(answer, request)
    return page === null ? sendErrorPage(reply, answer) : reply.redirect(page, 303)
  })
}

const sendPage = <Name extends PageName>(
  reply: FastifyReply,
  name: Name,
  data: PageData[Name],
  status: number,
): FastifyReply => sendHtml(reply, renderPage(reply, name, data), status)

const sendHtml = (reply: FastifyReply, html: string, status: number): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').serializer(String).send(html)

/**
 * Returns the page that follows a form instead of a redirect to an address, and its `Refresh` header; null if a redirect
 * cannot leave svc.
 */
export function pageAfterForm(reply: FastifyReply, address: string): { html: string; refresh: string } | null {
  const destination = destinationAfterForm(reply, address)
  if (!destination) return null
  const { href, name } = destination
  const text = textsOf(reply.request)
  const label = text('login.continue', { application: name })
  const data = { title: label, message: text('continue.text', { application: name }), link: { href, label } }
  return { html: renderPage(reply, 'message', data), refresh: `0; url=${href}` }
}

/** Sends an error as a page. */
export const sendErrorPage = (reply: FastifyReply, error: HttpError): FastifyReply =>
  sendHtml(varyBy(reply, 'Accept').headers(error.headers), renderErrorPage(reply, error), error.statusCode)

/** Returns the HTML of an error page. */
export function renderErrorPage(reply: FastifyReply, error: HttpError): string {
  const config = reply.request.server.config.current()
  const text = textsOf(reply.request)
  const data = { link: remedyOf(error, reply.request, text), requestId: reply.request.id, homeHref: startPage(config) }
  return renderPage(reply, 'error', { ...wordsOf(error, text), ...data })
}

/** Statuses of errors that may not happen again: an expired form, a limit, and errors of svc. */
const passing: ReadonlySet<number> = new Set([419, 429, 500, 503])

/** Tests for a route where other sites post forms, which their own policies concern. */
function isEntry({ routeOptions }: FastifyRequest): boolean {
  const { access } = routeOptions.config
  return access !== undefined && 'csrf' in access && access.csrf === 'entry'
}

/** Page that resolves an error, if there is one. */
function remedyOf(error: HttpError, request: FastifyRequest, text: TextLookup): PageData['error']['link'] {
  const { code, statusCode } = error
  const config = request.server.config.current()
  if (code === 'email_unverified') return { href: resendPage, label: text('verify-email.submit') }
  if (code === 'terms_not_accepted') return { href: withReturn(termsPage, pageOf(request)), label: text('terms.open') }
  if (needsSignIn(error)) return { href: signInPage(config, '/'), label: text('login.submit') }
  const page = passing.has(statusCode) ? pageOf(request) : null
  return page === null ? null : { href: page, label: text('error.reload') }
}

/** Path of the page that a request opened, or of the page of svc that sent a form; null if another site did. */
function pageOf({ method, url, headers, server }: FastifyRequest): string | null {
  if (method === 'GET') return localPath(url)
  const referer = URL.parse(headers.referer ?? '')
  return referer?.origin === server.config.current().app.url ? localPath(referer.pathname + referer.search) : null
}

/** Renders a page inside the layout. All templates receive `text`, `app`, `xsrf`, `lang`, `dir` and `date`. */
export function renderPage<Name extends PageName>(reply: FastifyReply, name: Name, data: PageData[Name]): string {
  const { request } = reply
  const config = request.server.config.current()
  const language = languageOf(request)
  varyBy(reply, 'Accept-Language').header('content-language', language)
  const render = (file: string, values: object): string =>
    templates.render(file, values, {
      directory: config.templates.pages,
      onInvalid: (error) => request.log.error({ err: error }, 'invalid template, using the built-in one'),
    })
  const text = textsIn(config, language)
  const shared = {
    text,
    app: { name: config.app.name },
    xsrf: xsrfOf(request),
    lang: language,
    dir: directionOf(language),
    date: (at: Date | number | string) => formatDate(language, at),
    browser: (described: string | null) => translateBrowser(described, text),
    icon,
    initial: (name: string) => initialOf(name, language),
  }
  const application = reply.application ?? {
    name: null,
    logo: null,
    termsHref: null,
    privacyHref: null,
    cancelAction: null,
  }
  const tools = {
    when: (name: TextName | null, at: string) => {
      const date = formatRelative(language, at, request.server.clock.now())
      return render('when.eta', { at, exact: formatDate(language, at), text: name ? text(name, { date }) : date })
    },
    passwordTools: () => render('password-tools.eta', shared),
    providerMark: (provider: object) => render('provider-mark.eta', provider),
    formErrors: (errors: FieldErrors) => render('form-errors.eta', { errors }),
    formFields: (fields: readonly FormField[], errors: FieldErrors) => render('form-fields.eta', { fields, errors }),
    applicationLogo: () => render('application-logo.eta', application),
    applicationLinks: () => render('application-links.eta', { ...shared, ...application }),
  }
  const page = {
    ...shared,
    ...reply.menu,
    application: application.name,
    ...data,
    ...errorsOf(data, text),
    ...tools,
  }
  const body = render(`${name}.eta`, { ...page, ...partsOf(page) })
  return render('layout.eta', {
    ...shared,
    title: `${titleOf(name, data, text)} · ${config.app.name}`,
    page: name,
    body: withNotice(body, reply.menu?.notice ?? null, render),
    impersonation: impersonationOf(request),
    menu: reply.menu ? render('menu.eta', { ...shared, ...reply.menu }) : null,
    logo: config.theme.logo,
    links: footerLinks(config, text),
    languages: languageSwitch(request, language, data),
    nonce: reply.cspNonce?.style ?? '',
    xsrfCookie: config.session.xsrf_cookie,
    style: `${render('style.css', {})}\n${colorStyle(config)}`,
  })
}

/** The user as whom an administrator acts in this browser, and where that ends; null for everyone else. */
function impersonationOf({ session }: FastifyRequest): { user: string; endAction: string } | null {
  const user = session?.impersonation && session.state?.row?.user
  return user ? { user: user.name, endAction: signOutPath } : null
}

/** Adds the result of the previous form below the heading and the lead, where forms show their errors. */
function withNotice(body: string, notice: string | null, render: (file: string, values: object) => string): string {
  if (notice === null) return body
  const place = /<\/h1>(?:\s*<p class="lead"[^>]*>[\s\S]*?<\/p>)?/
  const html = render('notice.eta', { notice })
  return place.test(body) ? body.replace(place, (heading) => heading + html) : html + body
}

/** The first letter of a name. */
function initialOf(name: string, language: Language): string {
  const [first] = new Intl.Segmenter(language).segment(name.trim())
  return first?.segment.toLocaleUpperCase(language) ?? ''
}

/** Links below the page: those that the configuration has. */
const footerLinks = ({ links }: Config, text: TextLookup): { href: string; label: string }[] =>
  (['help', 'privacy', 'terms'] as const).flatMap((name) => {
    const href = links[name]
    return href === null ? [] : [{ href, label: text(`footer.${name}`) }]
  })

/** The data of a page's parts, and their HTML in place of the parts: `preferredParts` above the form, `parts` below it. */
function partsOf(page: object | { parts: readonly PagePart[] }): object {
  if (!('parts' in page)) return {}
  const data = Object.assign({}, ...page.parts.map((part) => part.data))
  const render = (isPreferred: boolean): string[] =>
    page.parts
      .filter((part) => (part.isPreferred ?? false) === isPreferred)
      .flatMap(({ template }) => template ?? [])
      .map((path, index) => templates.renderPart(path, { ...page, ...data, isFirst: index === 0, isPreferred }))
  return { ...data, parts: render(false), preferredParts: render(true) }
}

function titleOf(name: PageName, data: object, text: TextLookup): string {
  if ('title' in data && typeof data.title === 'string') return data.title
  const title = `${name}.title`
  return isTextName(title) ? text(title) : 'Test page'
}

/** Value of the hidden field `_token`, for the session after this response. */
const xsrfOf = ({ server, session }: FastifyRequest): string =>
  session ? server.sessions.xsrf.token(session.sessionId) : ''

/** Translates the errors of a form, which are messages of the API. */
function errorsOf(data: object, text: TextLookup): { errors?: FieldErrors } {
  if (!('errors' in data) || !isFieldErrors(data.errors)) return {}
  return { errors: translateErrors(data.errors, text) }
}

const isFieldErrors = (errors: unknown): errors is FieldErrors =>
  typeof errors === 'object' && errors !== null && !Array.isArray(errors)

/** Heading and text of an error: the page's texts for its code, otherwise the error message. */
function wordsOf({ code, message, errors }: HttpError, text: TextLookup): { heading: string; texts: string[] } {
  const known = (name: string): name is TextName => isTextName(name)
  const [heading, explanation] = [`error.${code}`, `error.${code}_text`]
  return {
    heading: text(known(heading) ? heading : 'error.heading'),
    texts: errors
      ? Object.values(translateErrors(errors, text)).flat()
      : [known(explanation) ? text(explanation) : translateMessage(message, text)],
  }
}
