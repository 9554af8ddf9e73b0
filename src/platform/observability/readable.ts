import type { DestinationStream } from 'pino'
import type { Config } from '../config/schema.ts'
import { forTerminal } from './terminal.ts'

/** Returns where the logger writes its lines: in a readable form for a developer at a terminal, otherwise as they are. */
export async function logLines(output: DestinationStream, { app }: Config): Promise<DestinationStream> {
  if (app.environment !== 'development' || process.stdout.isTTY !== true) return output
  const { prettyFactory } = await import('pino-pretty')
  // Without colors: only then can a control character be escaped wherever it is.
  const pretty = prettyFactory({ colorize: false, translateTime: 'SYS:HH:MM:ss', singleLine: true, messageKey: 'msg' })
  return { write: (line) => output.write(forTerminal(pretty(JSON.parse(line)))) }
}
