import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LightMyRequestResponse } from 'fastify'
import { parse, stringify } from 'yaml'
import type { Settings } from './app.ts'
import type { Running } from './process.ts'
import { sendRequest } from './remote.ts'

/** A line of the log. */
export interface LogLine {
  level: string
  msg: string
  changed?: string[]
  keys?: string[]
  problems?: string[]
}

const ofConfiguration = '"msg":"(?:the configuration|configuration reload|restart required)[^\\n]*\\n'

/** The log lines of a process about its configuration. */
export const configLines = ({ stdout }: Running): LogLine[] =>
  stdout()
    .split(/(?<=\n)/)
    .filter((line) => new RegExp(ofConfiguration).test(line))
    .map((line) => JSON.parse(line))

/** Waits for the nth log line about the configuration, and returns it. */
export async function nthLine(svc: Running, count: number): Promise<LogLine> {
  await svc.printed(new RegExp(`(?:[^]*?${ofConfiguration}){${count}}`))
  const line = configLines(svc)[count - 1]
  if (!line) throw new Error('There is no such line.')
  return line
}

/** The configuration file of a process that `startWithAda` started. */
export const settingsOf = ({ cwd }: Running): Settings => parse(readFileSync(join(cwd, 'svc.yaml'), 'utf8'))

/** Replaces the file atomically, as editors and deployments do. */
export function replaceFile({ cwd }: Running, content: Settings | string): void {
  const draft = join(cwd, 'draft.yaml')
  writeFileSync(draft, typeof content === 'string' ? content : stringify(content))
  renameSync(draft, join(cwd, 'svc.yaml'))
}

/** A machine client. */
export const robot = (client_id: string, secret = 'a-secret-that-is-long-enough'): Settings => ({
  client_id,
  type: 'confidential',
  secret,
  grants: ['client_credentials'],
})

/** Requests a token with a client's credentials. */
export const machineToken = (
  { url }: Running,
  client: string,
  secret = 'a-secret-that-is-long-enough',
): Promise<LightMyRequestResponse> =>
  sendRequest(url, {
    method: 'POST',
    url: '/oauth/token',
    headers: {
      authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: 'grant_type=client_credentials',
  })
