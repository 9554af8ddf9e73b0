import { type CommandContext, CommandError } from '../../../contract/command.ts'
import { importSecrets } from '../../../platform/config/load.ts'
import { DataError } from '../../../platform/database/copy/values.ts'
import { requireUrl } from '../laravel/import.ts'
import { openSource } from '../laravel/source/open.ts'
import { betterAuthUsers } from './better-auth.ts'
import { FileError } from './converted.ts'
import { type Given, importConverted } from './run.ts'

/** Reads the users of a better-auth application, and creates them with --apply. */
export async function importBetterAuth(context: CommandContext, given: string, options: Given): Promise<void> {
  const url = requireUrl(given)
  try {
    const source = await openSource(url, importSecrets().password)
    const found = await betterAuthUsers(source).finally(() => source.close())
    await importConverted(context, found, options)
  } catch (error) {
    throw error instanceof DataError || error instanceof FileError ? new CommandError(error.message) : error
  }
}
