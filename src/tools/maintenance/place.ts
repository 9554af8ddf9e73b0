import { CommandError } from '../../contract/command.ts'
import { isDatabaseUrl } from '../../platform/config/formats.ts'
import { resolveDatabase } from '../../platform/config/resolve.ts'
import { connectionUrlProblem } from '../../platform/config/url-parameters.ts'
import type { Place } from '../../platform/database/copy/connection.ts'

/** Reads the URL of a database. The error never repeats the URL, which may contain a password. */
export function placeOf(url: string, name: string): Place {
  const isAmbiguous = !url.startsWith('file:') && URL.canParse(url) && /@/.test(url.replace(/^[^@]*@/, ''))
  if (!isDatabaseUrl(url) || isAmbiguous) {
    throw new CommandError(
      `<${name}> must be file:<path> or postgresql://user:password@host:port/name. Percent-encode special characters of the password.`,
    )
  }
  const problem = connectionUrlProblem(url)
  if (problem !== null) throw new CommandError(`<${name}> ${problem}.`)
  return resolveDatabase(url, process.cwd())
}
