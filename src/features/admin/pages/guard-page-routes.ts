import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SessionCaller } from '../../../auth/access/caller.ts'
import { findUserByEmail } from '../../../identity/users.ts'
import { type FormState, formOf, formPage, fresh } from '../../../pages/form-page.ts'
import { textsOf } from '../../../pages/texts.ts'
import { placeText } from '../../../platform/config/findings.ts'
import { unauthenticated, validationFailed } from '../../../platform/errors.ts'
import { typedText } from '../../../platform/http/fields.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'
import type { Rule } from '../../forward-auth/rules.ts'
import { justSignedIn, tryRequest } from '../../forward-auth/try-request.ts'
import { recordRead } from '../api/request.ts'
import { fieldOf, formBlockOf, present, rowOf, rowsOf } from './blocks.ts'
import { adminSection, ownPages, sendSection } from './section-hooks.ts'

const section = adminSection('guard')

/** What identifies a rule: its name, or its place in the list. */
const titleOf = (rule: Rule, at: number): string => rule.name ?? `guard.rules[${at}]`

/** The settings of a rule that differ from the defaults, as in the file. */
function detailsOf({ name: _, access: __, place, ...settings }: Rule): string[] {
  const isSet = (value: unknown) => value !== null && value !== false
  const texts = Object.entries(settings)
    .filter(([, value]) => isSet(value))
    .map(([key, value]) => `${key}: ${Array.isArray(value) ? value.join(', ') : String(value)}`)
  return [...texts, ...(place ? [placeText(place)] : [])]
}

/** The rules of the guard, and a form that tries a request. */
export async function guardPages(app: FastifyInstance): Promise<void> {
  async function page(
    request: FastifyRequest,
    reply: FastifyReply,
    { state = fresh, result = null }: { state?: FormState; result?: { text: string; isGood: boolean } | null } = {},
  ) {
    const text = textsOf(request)
    const { guard } = app.config.current()
    const sent = (request.body ?? {}) as Record<string, unknown>
    const field = (name: string, label: string, more: { isRequired?: boolean; hint?: string; value?: string } = {}) =>
      fieldOf({ name, label, maxLength: 2_000, value: typedText(sent[name]), ...more })
    return sendSection(
      reply,
      {
        title: text('admin.guard'),
        lead: text('admin.read_only'),
        result,
        blocks: [
          formBlockOf({
            ...{ name: 'try', heading: text('admin.try'), action: section, submit: text('admin.try') },
            fields: [
              field('method', text('admin.method'), { value: typedText(sent.method) || 'GET', isRequired: true }),
              field('url', 'URL', { isRequired: true }),
              field('email', text('account-profile.email'), { hint: text('admin.try_hint') }),
            ],
          }),
          rowsOf({
            ...{ name: 'rules', heading: text('admin.rules') },
            rows: [
              ...guard.rules.map((rule, at) =>
                rowOf({ title: titleOf(rule, at), badges: [rule.access], details: detailsOf(rule) }),
              ),
              rowOf({ title: 'guard.default', badges: [guard.default] }),
            ],
          }),
        ],
      },
      state,
    )
  }

  formPage(app, {
    path: section,
    operation: 'AdminGuard',
    config: ownPages,
    show: {
      summary: 'the rules of the guard',
      description: 'The rules in their order.',
      page: (request, reply) => page(request, reply),
    },
    submit: {
      summary: 'try a request',
      description: 'Says what the guard would answer.',
      form: formOf('AdminGuardForm', { method: 'The method.', url: 'The URL.', email: 'The address of the user.' }),
      async send(request, reply) {
        const text = textsOf(request)
        const [method = '', url = '', email = ''] = [request.body.method, request.body.url, request.body.email].map(
          (value) => typedText(value).trim(),
        )
        if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
          throw validationFailed({ url: ['The url field must be a valid URL.'] })
        }
        if (!/^[A-Za-z]{1,32}$/.test(method)) throw validationFailed({ method: ['The method field is invalid.'] })
        const result = await decide(app, request, text, { method: method.toUpperCase(), url, email })
        return page(request, reply, { result })
      },
      again: (request, reply, state) => page(request, reply, { state }),
    },
  })
}

async function decide(
  app: FastifyInstance,
  request: FastifyRequest,
  text: TextLookup,
  { method, url, email }: { method: string; url: string; email: string },
) {
  const config = app.config.current()
  const now = app.clock.now()
  const found = email === '' ? null : await findUserByEmail(app.database, email)
  if (email !== '' && !found) throw validationFailed({ email: ["We can't find a user with that email address."] })
  if (found) await recordRead(request, found.user.id, 'user')
  const { status, denied, rule } = await tryRequest(
    config,
    { method, url, address: request.ip },
    async () => {
      if (!found || found.user.disabled) throw unauthenticated()
      const caller = new SessionCaller({ id: null, publicId: 'test', bindingId: 'test' }, found.user)
      return { caller, proof: justSignedIn(found.user, now) }
    },
    now,
  )
  const place = rule ? titleOf(rule, config.guard.rules.indexOf(rule)) : `guard.default: ${config.guard.default}`
  const verdict = denied === null ? text('admin.allowed') : text('admin.denied', { status, reason: denied })
  return { text: present([verdict, text('admin.decided_by', { rule: place })]).join(' '), isGood: denied === null }
}
