import {
  alwaysJsonOption,
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { originOf, reasonOption } from '../../contract/command-origin.ts'
import { createInvitation, invite } from '../../identity/invitations.ts'
import type { User } from '../../identity/user.ts'
import { requireUsername } from '../../identity/username.ts'
import { eachUser, type UserChanges } from '../../identity/users.ts'
import { hashPassword } from '../../platform/crypto/password.ts'
import type { FieldErrors } from '../../platform/errors.ts'
import { isEmail, isName } from '../../platform/http/formats.ts'
import { attempt, newPassword, refuse, requireTarget, userOptions, warnOfPassword } from './command-input.ts'
import { addressTaken, addUser, changeUser } from './users.ts'

const line = ({ disabled, ...user }: User): string => JSON.stringify({ ...user, disabled })

/** Refuses an invalid address or name, and other errors. */
function checkPerson(email: string, name: string, errors: FieldErrors = {}): void {
  const found: FieldErrors = { ...errors }
  if (name.length > 255) found.name = ['The name field must not be greater than 255 characters.']
  else if (!isName(name)) found.name = ['The name field contains characters that are not allowed.']
  if (email === '') found.email = ['The email field is required.']
  else if (!isEmail(email)) found.email = ['The email field must be a valid email address.']
  if (Object.keys(found).length > 0) refuse(found)
}

/** Reads a list of groups. */
const namesIn = (text = ''): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** The username in the options. */
const usernameIn = ({ username }: { readonly username?: string }): Promise<{ username?: string }> =>
  attempt((async () => (username === undefined ? {} : { username: requireUsername(username, 'administrator') }))())

const createOptions = {
  email: { value: 'address', required: true, description: 'The email address' },
  name: { value: 'name', required: true, description: 'The name' },
  role: { value: 'role', description: 'The role. By default registration.role of the configuration' },
  groups: { value: 'groups', description: 'The groups, separated by commas' },
  username: { value: 'username', description: 'The username. By default derived from the name' },
  verified: { description: 'Mark the address as verified' },
  ...reasonOption,
} as const satisfies CommandOptions

async function create(context: CommandContext, { options }: CommandInput<typeof createOptions>): Promise<void> {
  const [name, email] = [options.name?.trim() ?? '', options.email?.trim() ?? '']
  const errors = name === '' ? { name: ['The name field is required.'] } : {}
  checkPerson(email, name, errors)

  const typed = await newPassword(context)
  const password = hashPassword(typed)
  const role = options.role?.trim() || context.config.current().registration.role
  const facts = {
    ...(await usernameIn(options)),
    name,
    email,
    role,
    groups: namesIn(options.groups),
    password,
    verified: options.verified === true,
  }
  const origin = originOf(context, options)
  context.print(line(await attempt(context.database.transaction((tx) => addUser(context, tx, origin, facts)))))
  warnOfPassword(context, typed)
}

const inviteOptions = {
  email: { value: 'address', required: true, description: 'The email address' },
  name: { value: 'name', description: 'The name. By default the person chooses it' },
  role: { value: 'role', description: 'The role. By default registration.role of the configuration' },
  groups: { value: 'groups', description: 'The groups, separated by commas' },
  link: { description: 'Print the link instead of mailing it. The address counts as verified all the same' },
  ...reasonOption,
} as const satisfies CommandOptions

async function sendInvitation(context: CommandContext, { options }: CommandInput<typeof inviteOptions>): Promise<void> {
  const { database, config } = context
  const [name, email] = [options.name?.trim() ?? '', options.email?.trim() ?? '']
  checkPerson(email, name)
  const role = options.role?.trim() || config.current().registration.role
  const request = { email, name: name || null, role, groups: namesIn(options.groups) }
  const origin = originOf(context, options)
  const invited = database.transaction(async (tx) => {
    const created = options.link
      ? await createInvitation(config, tx, origin, request).then(
          (made) => made && { ...made.invitation, link: made.link },
        )
      : await invite(context, tx, origin, request)
    if (!created) throw await addressTaken(tx, email, origin.now)
    return created
  })
  context.print(JSON.stringify(await attempt(invited)))
}

const updateOptions = {
  ...userOptions,
  role: { value: 'role', description: 'Change the role' },
  username: { value: 'username', description: 'Change the username. svc never assigns the old one again' },
  verify: { description: 'Mark the address as verified' },
  disable: { description: 'Disable the account, and revoke its sessions, tokens and grants', excludes: 'enable' },
  enable: { description: 'Enable the account. Does not restore what --disable revoked' },
  'reset-two-factor': { description: 'Remove the second factor' },
  ...reasonOption,
} as const satisfies CommandOptions

async function update(context: CommandContext, { options }: CommandInput<typeof updateOptions>): Promise<void> {
  if (options.id === undefined && !options.email?.trim()) refuse({ email: ['The email field is required.'] })
  const changes: UserChanges = {
    ...(options.role === undefined ? {} : { role: options.role.trim() }),
    ...(await usernameIn(options)),
    ...(options.verify ? { verified: true } : {}),
    ...(options.disable || options.enable ? { disabled: options.disable === true } : {}),
    ...(options['reset-two-factor'] ? { resetTwoFactor: true } : {}),
  }
  if (changes.role === '') refuse({ role: ['The role field is required.'] })
  if (Object.keys(changes).length === 0) throw new CommandError('Nothing to change. Pass at least one option.')
  const user = await requireTarget(context, options)
  context.print(line(await attempt(changeUser(context, originOf(context, options), user.id, changes))))
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
    name: 'user:invite',
    summary: 'Invite a person to create an account',
    details:
      'Mails a link that works once, for invitations.ttl, also while registration is disabled. It replaces an earlier invitation of the address. Prints the invitation as one line of JSON.',
    options: inviteOptions,
    run: sendInvitation,
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
    options: { json: alwaysJsonOption },
    run: async ({ database, print }) => {
      for await (const user of eachUser(database)) print(line(user))
    },
  }),
]
