import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../platform/config/schema.ts'
import type { AccountPageName } from '../../platform/config/sections/accounts.ts'
import { typedText, uncheckedText, uncheckedTexts } from '../../platform/http/fields.ts'
import { textsOf } from '../../platform/http/texts.ts'
import { type Static, type TObject, type TString, Type } from '../../platform/json-schema.ts'
import { formPage, formRoute, fresh, pageRoute, sectionAnswers } from '../form-page.ts'
import type { PageData } from '../page-data.ts'
import { pageAnswers } from '../pages.ts'
import { addAccountPages, done, sectionPath, verifiedAccount } from './account-pages.ts'
import { ListQuery, listPage } from './list-page.ts'

const TokenForm = Type.Object(
  {
    name: uncheckedText('A name that the user recognizes.'),
    abilities: uncheckedTexts('The chosen abilities or scopes.'),
    lifetime: uncheckedText('Days until the token expires; empty for the maximum.', ['string', 'null']),
  },
  { title: 'TokenForm', additionalProperties: false },
)

/** The form that creates a token, as a user typed it. */
export type TypedToken = Static<typeof TokenForm>

type NewTokenPage = PageData['account-token-new']

/** A token in the list. */
type ShownToken = Omit<PageData['account-token-list']['tokens'][number], 'action'> & { id: string | number }

/** Properties of one section with tokens. */
export interface TokenSection {
  name: Extract<AccountPageName, 'tokens' | 'personal-tokens'>
  /** Part of the operation ids, such as `PersonalToken` in `showPersonalTokens`. */
  operation: string
  /** Name of a token in the API description, with its article. */
  title: string
  article: 'a' | 'an'
  /** Path of the same list as JSON. */
  listPath: string
  /** Path to which a client posts a new token. */
  createPath: string
  /** Route parameters with the `id` of a token. */
  params: TObject<{ id: TString }>
  /** Returns all tokens of the user, newest first. */
  list(request: FastifyRequest): Promise<ShownToken[]>
  /** Returns the choices of the form. */
  choices(request: FastifyRequest): readonly Omit<NewTokenPage['choices'][number], 'isChosen'>[]
  /** Returns the lifetimes of the form. */
  lifetimes(typed: TypedToken): Pick<NewTokenPage, 'lifetimes' | 'lifetime' | 'latestAt'>
  /** Creates a token with the chosen abilities or scopes. */
  create(request: FastifyRequest, typed: TypedToken, chosen: string[]): Promise<{ name: string; token: string }>
  /** Throws 404 if the user has no such token. */
  revoke(request: FastifyRequest, id: string): Promise<void>
}

const confirmed = { ...verifiedAccount, recentPassword: ({ tokens }: Config) => tokens.confirm_password }

/** Texts of a field that a form sends once or several times. */
const textList = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string')

/** Adds the pages of a section that lists, creates and revokes tokens. */
export async function addTokenPages(app: FastifyInstance, section: TokenSection): Promise<void> {
  const { name: sectionName, operation, title } = section
  const path = sectionPath(sectionName)
  const newPath = `${path}/new`
  await addAccountPages(app, sectionName)

  pageRoute(app, {
    path,
    operation: `${operation}s`,
    config: verifiedAccount,
    query: ListQuery,
    summary: `${title}s`,
    description: `Like \`GET ${section.listPath}\`, newest first.`,
    async page(request, reply) {
      const text = textsOf(request)
      const { entries, nextHref } = listPage(path, await section.list(request), request.query.after)
      return reply.page('account-token-list', {
        title: text(`account-${sectionName}.title`),
        lead: text(`account-${sectionName}.lead`),
        none: text(`account-${sectionName}.none`),
        tokens: entries.map(({ id, ...token }) => ({ ...token, action: `${path}/${id}/revoke` })),
        newHref: newPath,
        nextHref,
      })
    },
  })

  function form(request: FastifyRequest, reply: FastifyReply, typed: TypedToken = {}, { errors, status } = fresh) {
    const chosen = textList(typed.abilities)
    return reply.page(
      'account-token-new',
      {
        title: textsOf(request)(`account-${sectionName}.new`),
        action: newPath,
        name: typedText(typed.name),
        choices: section.choices(request).map((choice) => ({ ...choice, isChosen: chosen.includes(choice.value) })),
        ...section.lifetimes(typed),
        errors,
        backHref: path,
      },
      status,
    )
  }

  formPage(app, {
    path: newPath,
    operation: `${operation}Form`,
    config: confirmed,
    show: {
      summary: `create ${section.article} ${title}`,
      description: 'Asks for the password first with `tokens.confirm_password`.',
      page: (request, reply) => form(request, reply),
    },
    submit: {
      summary: `create ${section.article} ${title}`,
      description: `Like \`POST ${section.createPath}\`. The response shows the token once.`,
      response: { 200: pageAnswers.page, 303: sectionAnswers[303] },
      form: TokenForm,
      async send(request, reply) {
        const created = await section.create(request, request.body, textList(request.body.abilities))
        // The page is the response to the form, so that the token is in no URL, cookie or row.
        return reply.page('account-token', { ...created, backHref: path })
      },
      again: (request, reply, state) => form(request, reply, request.body, state),
    },
  })

  formRoute(app, {
    path: `${path}/:id/revoke`,
    operation: `${operation}Revocation`,
    config: verifiedAccount,
    params: section.params,
    summary: `revoke ${section.article} ${title}`,
    description: `Like \`DELETE ${section.listPath}/{id}\`. 404 for tokens of other users.`,
    next: 'Back to the page.',
    async send(request) {
      await section.revoke(request, request.params.id)
      return done(path, 'token_revoked')
    },
  })
}
