import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isLoopback } from '../../platform/config/hosts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { connectionHint } from '../../platform/database/connection-hint.ts'
import { inspectDatabase } from '../../platform/database/inspect.ts'
import { pingRedis } from '../../platform/database/redis.ts'
import { reasonOf } from '../../platform/dependencies.ts'
import { verifySmtp } from '../../platform/mail/smtp.ts'
import { type Check, failure, ok, skipped, warning } from './check.ts'

/** Difference of the clocks of svc and the database that is normal, in milliseconds. */
const tolerance = 5_000

/** Checks the connection to the database and its migrations, without changing it. */
export async function checkDatabase({ database }: Config): Promise<Check[]> {
  const check = 'database'
  const key = 'database.url'
  try {
    const { exists, pending, ahead } = await inspectDatabase(database)
    if (!exists) return [warning(check, 'The database file does not exist yet. svc creates it when it starts.', key)]
    if (ahead !== null && Math.abs(ahead) > tolerance) {
      const seconds = Math.round(Math.abs(ahead) / 1_000)
      const side = ahead > 0 ? 'ahead of' : 'behind'
      return [
        warning(
          check,
          `The clock of the database is ${seconds} seconds ${side} this machine. Synchronize both with NTP.`,
        ),
      ]
    }
    if (pending === 0) return [ok(check, `${database.engine} answers, and its schema is current.`)]
    return [warning(check, `Pending migrations: ${pending}. svc applies them when it starts.`)]
  } catch (error) {
    const hint = connectionHint(error)
    return [failure(check, `The database cannot be used: ${reasonOf(error)}.${hint ? ` ${hint}.` : ''}`, key)]
  }
}

/** Checks the connection to Redis. */
export async function checkRedis({ redis }: Config): Promise<Check[]> {
  if (redis.url === null) return [skipped('redis', 'Not configured. svc uses the database instead.', 'redis.url')]
  try {
    await pingRedis(redis)
    return [ok('redis', 'Redis answers.')]
  } catch (error) {
    return [failure('redis', `Redis cannot be used: ${reasonOf(error)}.`, 'redis.url')]
  }
}

/** Throws if svc cannot write to the directory, or create it with the first mail. */
async function checkWritable(directory: string): Promise<void> {
  await access(directory, constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return checkWritable(dirname(directory))
  })
}

/** Checks that the mail server accepts a connection and the credentials. Sends no mail. */
export async function checkMail({ mail, app, outbound }: Config): Promise<Check[]> {
  const key = 'mail.url'
  if (mail.url === 'log:') {
    const make = app.environment === 'production' ? failure : warning
    return [make('mail', 'Mails are printed to the log and reach no one.', key)]
  }
  try {
    if (mail.url.startsWith('file:')) {
      await checkWritable(mail.url.slice('file:'.length))
      return [warning('mail', 'Mails are written to files and reach no one.', key)]
    }
    const { isEncrypted, isAuthenticated } = await verifySmtp(mail, outbound)
    const as = isAuthenticated ? ' and the credentials' : ''
    if (isEncrypted || isLoopback(new URL(mail.url).hostname))
      return [ok('mail', `The mail server accepts the connection${as}.`)]
    return [warning('mail', `The mail server accepts the connection${as}, but without encryption.`, key)]
  } catch (error) {
    return [failure('mail', `The mail server cannot be used: ${reasonOf(error)}.`, key)]
  }
}

/** Checks that `server.trust_proxy` lists the proxy in front of svc, and not every address. */
export function checkTrust({ app, server }: Config): Check[] {
  const key = 'server.trust_proxy'
  const open = server.trust_proxy.find((range) => /\/0+$/.test(range))
  if (open) return [failure('trust', `${open} trusts every address, so clients can forge their address.`, key)]
  if (app.url.startsWith('https:') && server.trust_proxy.length === 0) {
    const message =
      'server.trust_proxy is empty, although app.url is https. Add the address of the proxy; otherwise all clients share it ' +
      'for rate limits.'
    return [warning('trust', message, key)]
  }
  return [ok('trust', 'Forwarded headers count only from the addresses in server.trust_proxy.')]
}
