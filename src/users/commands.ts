import { type CommandContext, CommandError, type CommandInput, type CommandOptions, command } from '../commands.ts'
import { hashPassword } from '../crypto/password.ts'
import { type FieldErrors, validationFailed } from '../errors.ts'
import { isEmail, isName } from '../http/formats.ts'
import { commandOrigin, recordEvent } from './events.ts'
import { notify } from './notices.ts'
import type { User } from './user.ts'
import { createUser, findUserByEmail, listUsers, type UserChanges, updateUser } from './users.ts'

const line = ({ disabled, ...user }: User): string => JSON.stringify({ ...user, disabled })

/** Prints the 422 body that the API returns for the same error. */
function refuse(errors: FieldErrors): never {
  const { message, code } = validationFailed(errors)
  throw new CommandError(JSON.stringify({ message, code, errors }))
}

const createOptions = {
  email: { value: 'address', required: true, description: 'The email address' },
  name: { value: 'name', required: true, description: 'The name' },
  role: { value: 'role', description: 'The role. By default registration.role of the configuration' },
  verified: { description: 'Mark the address as verified' },
} as const satisfies CommandOptions

async function create(context: CommandContext, { options }: CommandInput<typeof createOptions>): Promise<void> {
  const { database, now } = context
  const [name, email] = [options.name?.trim() ?? '', options.email?.trim() ?? '']
  const errors: FieldErrors = {}
  if (name === '') errors.name = ['The name field is required.']
  else if (name.length > 255) errors.name = ['The name field must not be greater than 255 characters.']
  else if (!isName(name)) errors.name = ['The name field contains characters that are not allowed.']
  if (email === '') errors.email = ['The email field is required.']
  else if (!isEmail(email)) errors.email = ['The email field must be a valid email address.']
  if (Object.keys(errors).length > 0) refuse(errors)

  const password = await context.readPassword()
  if (password === '') refuse({ password: ['The password field is required.'] })
  const role = options.role?.trim() || context.config.current().registration.role
  const hash = hashPassword(password)
  const user = await database.transaction(async (tx) => {
    const created = await createUser(tx, {
      name,
      email,
      role,
      password: hash,
      verified: options.verified === true,
      now,
    })
    if (created) await recordEvent(tx, commandOrigin(now), { type: 'user_created', userId: created.id })
    return created
  })
  if (!user) refuse({ email: ['The email has already been taken.'] })
  context.print(line(user))
}

const updateOptions = {
  email: { value: 'address', required: true, description: 'The email address of the user' },
  role: { value: 'role', description: 'Change the role' },
  verify: { description: 'Mark the address as verified' },
  disable: { description: 'Disable the account, and revoke its sessions, tokens and grants', excludes: 'enable' },
  enable: { description: 'Enable the account. Does not restore what --disable revoked' },
  'reset-two-factor': { description: 'Remove the second factor' },
} as const satisfies CommandOptions

async function update(context: CommandContext, { options }: CommandInput<typeof updateOptions>): Promise<void> {
  const { database, now } = context
  const email = options.email?.trim() ?? ''
  if (email === '') refuse({ email: ['The email field is required.'] })
  const changes: UserChanges = {
    ...(options.role === undefined ? {} : { role: options.role.trim() }),
    ...(options.verify ? { verified: true } : {}),
    ...(options.disable || options.enable ? { disabled: options.disable === true } : {}),
    ...(options['reset-two-factor'] ? { resetTwoFactor: true } : {}),
  }
  if (changes.role === '') refuse({ role: ['The role field is required.'] })
  if (Object.keys(changes).length === 0) throw new CommandError('Nothing to change. Pass at least one option.')
  const user = await database.transaction(async (tx) => {
    const before = await findUserByEmail({ prisma: tx }, email)
    const updated = await updateUser(tx, email, changes, now)
    const data = { changed: Object.keys(changes).join(' ') }
    if (updated) await recordEvent(tx, commandOrigin(now), { type: 'user_updated', userId: updated.id, data })
    if (updated && changes.resetTwoFactor && before?.user.two_factor_enabled) {
      await notify(context, tx, commandOrigin(now), updated, 'two_factor_reset')
    }
    if (updated && changes.disabled) await context.revokeAccess(tx, updated.id)
    return updated
  })
  if (!user) refuse({ email: ["We can't find a user with that email address."] })
  context.print(line(user))
}

/** Commands for managing users. */
export const userCommands = [
  command({
    name: 'user:create',
    summary: 'Create a user',
    details: 'Prompts for the password, or reads one line from standard input. Prints the user as one line of JSON.',
    options: createOptions,
    run: create,
  }),
  command({
    name: 'user:update',
    summary: 'Change a user',
    details: 'Prints the user as one line of JSON.',
    options: updateOptions,
    run: update,
  }),
  command({
    name: 'user:list',
    summary: 'List users, one JSON object per line',
    options: {},
    run: async ({ database, print }) => {
      for (const user of await listUsers(database)) print(line(user))
    },
  }),
]
