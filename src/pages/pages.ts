import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { HttpError } from '../errors.ts'
import { answerOf, sendError, varyByAccept } from '../http/error-handler.ts'
import { isNavigation } from '../http/navigation.ts'
import { Templates } from '../templates/templates.ts'
import { resendPage, signInPage, startPage } from './links.ts'
import type { PageData, PageName, PagePart } from './page-data.ts'
import { addPageHeaders } from './page-headers.ts'
import { isTextName, type TextName } from './texts.ts'
import { colorStyle, type TextLookup, textsOf, unknownTexts } from './theme.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that browsers open. `page` also answers errors as pages, `redirect` leads to a page. */
    navigation?: 'page' | 'redirect'
  }
  interface FastifyReply {
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

const templates = new Templates('pages')
const warned = new WeakSet<object>()

/**
 * Turns a scope into one of pages: security headers, `reply.page`, and error pages for browser navigations. Other
 * clients still get JSON.
 */
export async function addPages(scope: FastifyInstance): Promise<void> {
  await addPageHeaders(scope)
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
    return isNavigation(request) ? sendErrorPage(reply, answer) : sendError(reply, answer)
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

/** Sends an error as a page. */
export const sendErrorPage = (reply: FastifyReply, error: HttpError): FastifyReply =>
  sendHtml(varyByAccept(reply).headers(error.headers), renderErrorPage(reply, error), error.statusCode)

/** Returns the HTML of an error page. */
export function renderErrorPage(reply: FastifyReply, error: HttpError): string {
  const config = reply.request.server.config.current()
  const text = textsOf(config)
  const data = { link: remedyOf(error, config), requestId: reply.request.id, homeHref: startPage(config) }
  return renderPage(reply, 'error', { ...wordsOf(error, text), ...data })
}

/** Page that resolves an error, if there is one. */
function remedyOf({ code }: HttpError, config: Config): PageData['error']['link'] {
  const text = textsOf(config)
  if (code === 'email_unverified') return { href: resendPage, label: text('verify-email.submit') }
  if (code === 'unauthenticated') return { href: signInPage(config, '/'), label: text('login.submit') }
  return null
}

/** Renders a page inside the layout. All templates receive `text`, `app`, `xsrf` and `lang`. */
export function renderPage<Name extends PageName>(reply: FastifyReply, name: Name, data: PageData[Name]): string {
  const { request } = reply
  const config = request.server.config.current()
  if (!warned.has(config)) {
    warned.add(config)
    const unknown = unknownTexts(config)
    if (unknown.length > 0) request.log.warn(`theme.texts contains unknown names: ${unknown.join(', ')}`)
  }
  const render = (file: string, values: object): string =>
    templates.render(file, values, {
      directory: config.templates.pages,
      onInvalid: (error) => request.log.error({ err: error }, 'invalid template, using the built-in one'),
    })
  const text = textsOf(config)
  const shared = { text, app: { name: config.app.name }, xsrf: xsrfOf(request), lang: text('lang') }
  const passwordTools = () => render('password-tools.eta', shared)
  const body = render(`${name}.eta`, { ...shared, ...data, ...partsOf({ ...shared, ...data }), passwordTools })
  return render('layout.eta', {
    ...shared,
    title: `${titleOf(name, data, text)} · ${config.app.name}`,
    page: name,
    body,
    logo: config.theme.logo,
    links: footerLinks(config, text),
    nonce: reply.cspNonce?.style ?? '',
    style: `${render('style.css', {})}\n${colorStyle(config)}`,
  })
}

/** Links below the page: those that the configuration has. */
const footerLinks = ({ links }: Config, text: TextLookup): { href: string; label: string }[] =>
  (['help', 'privacy', 'terms'] as const).flatMap((name) => {
    const href = links[name]
    return href === null ? [] : [{ href, label: text(`footer.${name}`) }]
  })

/** The data of a page's parts, and their HTML in place of the parts. */
function partsOf(page: object | { parts: readonly PagePart[] }): object {
  if (!('parts' in page)) return {}
  const data = Object.assign({}, ...page.parts.map((part) => part.data))
  const shown = page.parts.flatMap(({ template }) => template ?? [])
  const parts = shown.map((path, index) => templates.renderPart(path, { ...page, ...data, isFirst: index === 0 }))
  return { ...data, parts }
}

function titleOf(name: PageName, data: object, text: TextLookup): string {
  const title = `${name}.title`
  if (isTextName(title)) return text(title)
  return 'title' in data && typeof data.title === 'string' ? data.title : 'Test page'
}

/** Value of the hidden field `_token`, for the session after this response. */
const xsrfOf = ({ server, session }: FastifyRequest): string =>
  session ? server.sessions.xsrf.token(session.sessionId) : ''

/** Heading and text of an error: the page's texts for its code, otherwise the error message. */
function wordsOf({ code, message, errors }: HttpError, text: TextLookup): { heading: string; texts: string[] } {
  const known = (name: string): name is TextName => isTextName(name)
  const [heading, explanation] = [`error.${code}`, `error.${code}_text`]
  return {
    heading: text(known(heading) ? heading : 'error.heading'),
    texts: errors ? Object.values(errors).flat() : [known(explanation) ? text(explanation) : message],
  }
}
