import { type CommandContext, CommandError, type CommandOptions } from '../../contract/command.ts'
import type { User } from '../../identity/user.ts'
import { findUserByEmail, findUserById } from '../../identity/users.ts'
import { type FieldErrors, HttpError, validationFailed } from '../../platform/errors.ts'
import { newPasswordErrors } from '../../platform/http/new-password.ts'

/** Options that name one user. */
export const userOptions = {
  email: { value: 'address', description: 'The email address of the user' },
  id: {
    value: 'id',
    range: [1, Number.MAX_SAFE_INTEGER],
    description: 'The id of the user, instead of the address',
    excludes: 'email',
  },
} as const satisfies CommandOptions

/** Options of lists. */
export const pageOptions = {
  limit: { value: 'count', range: [1, 1000], default: 50, description: 'Maximum number of records' },
  after: { value: 'cursor', description: 'Continue after this record, which ended the previous page' },
} as const satisfies CommandOptions

/** The body that the API returns for the same error; on a terminal, only its messages. */
function apiError({ message, code, errors }: HttpError): CommandError {
  const messages = Object.values(errors ?? { error: [message] }).flat()
  return new CommandError(JSON.stringify({ message, code, ...(errors ? { errors } : {}) }), messages.join('\n'))
}

/** Rejects the input like the API. */
export function refuse(errors: FieldErrors): never {
  throw apiError(validationFailed(errors))
}

/** Runs an operation and prints its errors as the API returns them. */
export async function attempt<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    if (error.statusCode === 429) {
      throw new CommandError('This mailbox received too much mail (rate_limits.mail). Try again later.')
    }
    throw apiError(error)
  }
}

/** Returns the user that the options name, or null if they name no user. */
export async function namedUser(
  { database }: Pick<CommandContext, 'database'>,
  { email, id }: { readonly email?: string; readonly id?: number },
): Promise<User | null> {
  if (id === undefined && email === undefined) return null
  if (email !== undefined && email.trim() === '') refuse({ email: ['The email field is required.'] })
  const found = id === undefined ? await findUserByEmail(database, email ?? '') : await findUserById(database, id)
  if (found) return found.user
  return refuse(
    id === undefined
      ? { email: ["We can't find a user with that email address."] }
      : { id: ["We can't find a user with that id."] },
  )
}

/** Returns the user that the options name. Throws if they name no user. */
export async function requireTarget(
  context: Pick<CommandContext, 'database'>,
  options: { readonly email?: string; readonly id?: number },
): Promise<User> {
  return (await namedUser(context, options)) ?? refuse({ email: ['The email field is required.'] })
}

/** Reads a new password: from the terminal without echo, otherwise one line of standard input. */
export async function newPassword(context: CommandContext): Promise<string> {
  const password = await context.readPassword()
  return password === '' ? refuse({ password: ['The password field is required.'] }) : password
}

/** Says on standard error why registration would refuse a password that an operator has set. */
export function warnOfPassword({ config }: CommandContext, password: string): void {
  for (const problem of newPasswordErrors(password, password, config.current()))
    process.stderr.write(`Registration would refuse this password: ${problem}\n`)
}
