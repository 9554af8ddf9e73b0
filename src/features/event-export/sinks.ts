import { fileSink } from './file.ts'
import type { Sink } from './sink.ts'
import { standardOutputSink } from './standard-output.ts'
import { syslogSink } from './syslog.ts'

/** Opens the destination that `audit.export` names. */
export function sinkFor(target: string): Sink {
  if (target === 'stdout:') return standardOutputSink
  if (target.startsWith('file:')) return fileSink(target.slice('file:'.length))
  return syslogSink(target)
}
