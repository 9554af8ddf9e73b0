import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { newAttributes } from '../../../identity/attributes.ts'
import { fieldsField, givenNames } from '../../../identity/chosen-names.ts'
import { changedFields } from '../../../identity/fields.ts'
import { existingGroups, roleIsGroup } from '../../../identity/groups.ts'
import { takenAddresses } from '../../../identity/import.ts'
import { canonicalEmail } from '../../../identity/user.ts'
import { usedUsernames, usernameTakenText } from '../../../identity/username.ts'
import { legacyHashes } from '../../../identity/users.ts'
import { importedHash } from '../../../platform/crypto/imported-hash.ts'
import { admitCost, legacyCostsOf, maxLegacyCosts, tooManyCosts } from '../../../platform/crypto/stored-password.ts'
import { type FieldErrors, HttpError } from '../../../platform/errors.ts'
import { checkBody } from '../../../platform/http/check-body.ts'
import { emailField } from '../../../platform/http/fields.ts'
import { nameField } from '../../../platform/http/validation.ts'
import { type Static, Type } from '../../../platform/json-schema.ts'
import { unknownGroups } from '../groups/groups.ts'
import { type ImportLine, importUsers, type LineReport } from '../import.ts'
import { adminNameFields, adminOrigin, changes, groupsField, recordRead } from './request.ts'
import { adminOf } from './still-administrator.ts'

const mediaTypes = ['application/x-ndjson', 'application/jsonl']

const maxLines = 10_000
const maxBytes = 10 * 1024 * 1024

const Line = Type.Object(
  {
    email: emailField(),
    name: Type.String(nameField),
    role: Type.Optional(Type.String({ minLength: 1, maxLength: 255, format: 'name' })),
    groups: groupsField,
    ...adminNameFields,
    fields: fieldsField,
    verified: Type.Optional(Type.Boolean()),
    disabled: Type.Optional(Type.Boolean()),
    password_hash: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], minLength: 1, maxLength: 512 }),
    ),
  },
  { additionalProperties: false },
)

const ImportQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description: '`true`: svc writes nothing, and reports what an import would do. Ids of new users are null.',
    }),
  ),
})

const Report = Type.Object(
  {
    dry_run: Type.Boolean({ description: 'Whether svc only reported what it would do.' }),
    created: Type.Integer({ description: 'How many users svc created.' }),
    exists: Type.Integer({ description: 'How many lines have an address with an account, which stays as it is.' }),
    invalid: Type.Integer({ description: 'How many lines are invalid.' }),
    lines: Type.Array(
      Type.Object(
        {
          line: Type.Integer({ description: 'The number of the line, from 1.' }),
          status: Type.Unsafe<LineReport['status']>({
            type: 'string',
            enum: ['created', 'exists', 'invalid'],
            examples: ['created'],
            description: 'What happened.',
          }),
          id: Type.Unsafe<number | null>({
            type: ['integer', 'null'],
            description: 'The id of the new user. Null without one, and in a dry run.',
          }),
          errors: Type.Optional(
            Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Messages by field.' }),
          ),
        },
        { title: 'AdminImportLine', description: 'What happened to a line.' },
      ),
      { description: 'One entry for each line, in order.' },
    ),
  },
  { title: 'AdminImport', description: 'The result for each line.' },
)

const example = '{"email":"ada@example.com","name":"Ada","verified":true,"password_hash":"$2y$10$…"}\n'

/** Checks one line. Throws 422 with the messages of its fields. */
function parsed(request: FastifyRequest, text: string): Static<typeof Line> {
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch {
    fields = null
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new HttpError(422, 'validation_failed', '', { errors: { line: ['The line must be a JSON object.'] } })
  }
  if (Object.values(fields).some((value) => typeof value === 'string' && !value.isWellFormed())) {
    throw new HttpError(422, 'validation_failed', '', { errors: { line: ['The line has invalid characters.'] } })
  }
  return checkBody(request, Line, fields)
}

/** Reads the lines: those that are valid, and the reports of the others. */
async function readLines(request: FastifyRequest, text: string) {
  const { config, database } = request.server
  const { role: defaultRole } = config.current().registration
  const costs = legacyCostsOf(await legacyHashes(database))
  const valid: ImportLine[] = []
  const invalid: LineReport[] = []
  const refuse = (line: number, errors: FieldErrors) => invalid.push({ line, status: 'invalid', id: null, errors })
  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1
    if (content.trim() === '') continue
    if (valid.length + invalid.length === maxLines) {
      throw new HttpError(413, 'body_too_large', `An import can have at most ${maxLines} lines.`)
    }
    try {
      const {
        password_hash,
        role = defaultRole,
        groups,
        username,
        given_name,
        family_name,
        fields,
        verified = false,
        disabled = false,
        email,
        name,
      } = parsed(request, content)
      const found = password_hash == null ? null : importedHash(password_hash)
      if (password_hash != null && !found) {
        refuse(line, {
          password_hash: ['The password hash must be argon2, bcrypt, scrypt or PBKDF2 with usual costs.'],
        })
        continue
      }
      if (found && !admitCost(costs, found.cost)) {
        refuse(line, { password_hash: [tooManyCosts] })
        continue
      }
      const { parts, ...named } = givenNames({ username, given_name, family_name })
      valid.push({
        line,
        user: {
          ...named,
          attributes: { ...newAttributes(parts), fields: changedFields(config.current(), {}, fields ?? {}, 'admin') },
          email: email.trim(),
          name: name.trim(),
          role,
          groups: groups ?? [],
          verified,
          disabled,
          password: found?.hash ?? null,
        },
      })
    } catch (error) {
      if (!(error instanceof HttpError) || !error.errors) throw error
      refuse(line, error.errors)
    }
  }
  return { valid, invalid }
}

/**
 * Returns the lines whose groups exist, whose username is free and whose role is not the name of a group. Adds reports of the
 * other lines to `invalid`.
 */
async function consistentLines(
  { server: app }: FastifyRequest,
  lines: readonly ImportLine[],
  invalid: LineReport[],
): Promise<ImportLine[]> {
  const config = app.config.current()
  const unknown = await unknownGroups(app, [...new Set(lines.flatMap(({ user }) => user.groups ?? []))])
  const roles = config.groups.include_role ? [...new Set(lines.map(({ user }) => user.role))] : []
  const clashing = await existingGroups(app.database, config, roles)
  const usernames = lines.flatMap(({ user }) => user.username ?? [])
  const taken = new Set(await usedUsernames(app.database, usernames))
  // A user who was imported before has the username.
  const emails = lines.flatMap(({ user }) => (user.username === undefined ? [] : canonicalEmail(user.email)))
  const known = await takenAddresses(app.database, emails, app.clock.now())
  return lines.filter(({ line, user }) => {
    const missing = user.groups?.find((name) => unknown.has(name))
    const { username } = user
    const isTaken = username !== undefined && taken.has(username) && !known.has(canonicalEmail(user.email))
    if (username !== undefined) taken.add(username)
    const errors: FieldErrors = {
      ...(isTaken ? { username: [usernameTakenText] } : {}),
      ...(missing === undefined ? {} : { groups: [`The group ${missing} does not exist.`] }),
      ...(clashing.has(user.role) ? { role: [roleIsGroup] } : {}),
    }
    if (Object.keys(errors).length === 0) return true
    invalid.push({ line, status: 'invalid', id: null, errors })
    return false
  })
}

/** Import of users from another server, with their password hashes. */
const imports: FastifyPluginAsyncTypebox = async (app) => {
  app.addContentTypeParser(mediaTypes, { parseAs: 'string', bodyLimit: maxBytes }, (_request, body, done) =>
    done(null, body),
  )

  app.post(
    '/admin/v1/users/import',
    {
      config: changes,
      schema: {
        operationId: 'adminImportUsers',
        tags: ['Administration'],
        summary: 'Import users as JSON lines',
        description: `Each line is an object with \`email\`, \`name\`, and optionally \`role\`, \`groups\` (which must exist), \`username\`, \`given_name\`, \`family_name\`, \`fields\`, \`verified\`, \`disabled\` and \`password_hash\`: argon2, bcrypt, scrypt or PBKDF2 as the other server stored it. svc hashes the password again at the next sign-in. At most ${maxLines} lines and 10 MB; the database can have ${maxLegacyCosts} kinds of hashes besides svc's own. Users with an account stay as they are, so an import can be repeated. Give the reason in the header \`Svc-Reason\`.`,
        body: {
          content: Object.fromEntries(
            mediaTypes.map((type) => [type, { schema: { type: 'string', examples: [example] } }]),
          ),
        },
        querystring: ImportQuery,
        response: { 200: Report },
      },
    },
    async (request) => {
      const { body } = request as { body: unknown }
      if (typeof body !== 'string') {
        throw new HttpError(415, 'unsupported_media_type', `Send JSON lines as ${mediaTypes[0]}.`)
      }
      const { valid: wellFormed, invalid } = await readLines(request, body)
      const valid = await consistentLines(request, wellFormed, invalid)
      const isDryRun = request.query.dry_run === 'true'
      const imported = await importUsers(adminOf(visitOf(request)), adminOrigin(request), valid, { isDryRun })
      // The report says which addresses have accounts.
      if (isDryRun || imported.some(({ status }) => status === 'exists')) await recordRead(request, null, 'users')
      if (!isDryRun) app.hashing.addLegacyCosts(valid.flatMap(({ user }) => user.password ?? []))
      const lines = [...imported, ...invalid].sort((a, b) => a.line - b.line)
      const count = (status: LineReport['status']) => lines.filter((one) => one.status === status).length
      return { dry_run: isDryRun, created: count('created'), exists: count('exists'), invalid: count('invalid'), lines }
    },
  )
}

export default imports
