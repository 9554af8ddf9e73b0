import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { type FieldErrors, HttpError } from '../platform/errors.ts'
import { formType } from '../platform/http/bodies.ts'
import { uncheckedText } from '../platform/http/fields.ts'
import { type Static, type TObject, Type } from '../platform/json-schema.ts'
import { accountPage } from './links.ts'
import { pageAnswers } from './pages.ts'

type Fields = TObject
type NoFields = TObject<Record<never, never>>

/** Schema of a form by the descriptions of its fields, perhaps with more fields whose names match a pattern. A handler checks them, because the page shows their errors. */
export const formOf = <Name extends string>(title: string, fields: Record<Name, string>, more?: { pattern: string }) =>
  Type.Object(
    Object.fromEntries(Object.entries<string>(fields).map(([name, text]) => [name, uncheckedText(text)])) as Record<
      Name,
      ReturnType<typeof uncheckedText>
    >,
    {
      title,
      additionalProperties: false,
      ...(more ? { patternProperties: { [more.pattern]: {} } } : {}),
    },
  )

/** The errors that a page with a form shows, and its status. */
export interface FormState {
  errors: FieldErrors
  status: number
}

/** The state of a form before it is sent. */
export const fresh: FormState = { errors: {}, status: 200 }

/** Responses of every account page, for the API description. */
export const sectionAnswers = {
  200: pageAnswers.page,
  302: Type.Null({ description: 'To `links.account`, the page of the application.' }),
  303: Type.Null({
    description:
      'To the sign-in page, or to `/account/confirm` if the page requires a recent confirmation. Both return to the page.',
  }),
}

interface Route<Params extends Fields> {
  path: string
  /** `Profile` for the operation `showProfile` or `submitProfile`. */
  operation: string
  config: FastifyContextConfig
  params?: Params
}

interface Described {
  /** Without `Page:` or `Form:` before it. */
  summary: string
  description: string
  response?: Record<number, object>
}

interface Show<Params extends Fields, Query extends Fields> extends Described {
  query?: Query
  page(
    request: FastifyRequest<{ Params: Static<Params>; Querystring: Static<Query> }>,
    reply: FastifyReply,
  ): FastifyReply | Promise<FastifyReply>
}

interface Submit<Params extends Fields, Form extends Fields> extends Described {
  /** Where a redirect after the form leads, for the API description. */
  next?: string
  /** Without fields, the form has only a button. */
  form?: Form
  /** Returns the address of the next page, or the response. */
  send(
    request: FastifyRequest<{ Params: Static<Params>; Body: Static<Form> }>,
    reply: FastifyReply,
  ): Promise<string | FastifyReply>
  /** Shows the form again with the errors of its fields. Default: an error page. */
  again?(
    request: FastifyRequest<{ Params: Static<Params>; Body: Static<Form> }>,
    reply: FastifyReply,
    state: FormState,
  ): FastifyReply | Promise<FastifyReply>
}

interface FormPage<Params extends Fields, Query extends Fields, Form extends Fields> extends Route<Params> {
  show: Show<Params, Query> & { config?: FastifyContextConfig }
  submit: Submit<Params, Form> & { config?: FastifyContextConfig }
}

const isOfAccount = (path: string): boolean => path.startsWith(accountPage)

const tagsOf = (path: string): string[] => [isOfAccount(path) ? 'Account pages' : 'Pages']

/** Adds a page that GET shows. */
export function pageRoute<Params extends Fields = NoFields, Query extends Fields = NoFields>(
  app: FastifyInstance,
  { path, operation, config, params, query, summary, description, response, page }: Route<Params> & Show<Params, Query>,
): void {
  const schema = {
    operationId: `show${operation}`,
    tags: tagsOf(path),
    summary: `Page: ${summary}`,
    description,
    ...(params ? { params } : {}),
    ...(query ? { querystring: query } : {}),
    response: response ?? (isOfAccount(path) ? sectionAnswers : { 200: pageAnswers.page }),
  }
  const handle = async (request: Parameters<typeof page>[0], reply: FastifyReply) => page(request, reply)
  app.get(path, { config, schema }, handle as RouteHandlerMethod)
}

/** Adds a form that a page sends: redirects to the next page, or shows the form again with its errors. */
export function formRoute<Params extends Fields = NoFields, Form extends Fields = NoFields>(
  app: FastifyInstance,
  route: Route<Params> & Submit<Params, Form>,
): void {
  const { path, operation, config, params, form, summary, description, next, response, send, again } = route
  const schema = {
    operationId: `submit${operation}`,
    tags: tagsOf(path),
    summary: `Form: ${summary}`,
    description,
    ...(params ? { params } : {}),
    ...(form ? { consumes: [formType], body: form } : {}),
    response: { ...response, ...(next ? { 303: Type.Null({ description: next }) } : {}) },
  }
  const handle = async (request: Parameters<typeof send>[0], reply: FastifyReply) => {
    try {
      const sent = await send(request, reply)
      return typeof sent === 'string' ? reply.redirect(sent, 303) : sent
    } catch (error) {
      if (!again || !(error instanceof HttpError) || !error.errors) throw error
      return again(request, reply.headers(error.headers), { errors: error.errors, status: error.statusCode })
    }
  }
  app.post(path, { config, schema }, handle as RouteHandlerMethod)
}

/** Adds a page with a form that is sent to the same address. */
export function formPage<
  Params extends Fields = NoFields,
  Query extends Fields = NoFields,
  Form extends Fields = NoFields,
>(app: FastifyInstance, { show, submit, ...route }: FormPage<Params, Query, Form>): void {
  pageRoute(app, { ...route, ...show, config: { ...route.config, ...show.config } })
  formRoute(app, { ...route, ...submit, config: { ...route.config, ...submit.config } })
}
