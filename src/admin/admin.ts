import type { FastifyInstance } from 'fastify'
import type { AccountParts } from '../accounts.ts'
import type { Mail } from '../mail/mail.ts'

/** What operations of administrators use: the parts of an app, which commands have without an app. */
export type Admin = AccountParts & Pick<FastifyInstance, 'counters'> & { mail: Pick<Mail, 'queue' | 'queueNotice'> }
