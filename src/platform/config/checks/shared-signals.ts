import type { Path, Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { signalsScope } from '../sections/admin.ts'

/** Rules about streams of signals. */
export const signalChecks = [streamsCanBeRead, secretsStaySecret] as const

function streamsCanBeRead({ shared_signals, clients }: Config, report: Report): void {
  for (const [name, { client_id, push }] of Object.entries(shared_signals.streams)) {
    const path: Path = ['shared_signals', 'streams', name]
    if (client_id === null) {
      if (!push) report(path, 'needs push, or a client_id that polls the signals')
      continue
    }
    const client = clients.find((one) => one.client_id === client_id)
    if (client?.scopes.includes(signalsScope)) continue
    const problem = client ? `must name a client with the scope ${signalsScope}` : 'must name a client in clients'
    report([...path, 'client_id'], `${problem} (found "${client_id}")`)
  }
}

/** A header of one line, and no secret in clear text on the way (RFC 8935 section 5.2). */
function secretsStaySecret({ shared_signals, app }: Config, report: Report): void {
  for (const [name, { push }] of Object.entries(shared_signals.streams)) {
    const path: Path = ['shared_signals', 'streams', name, 'push']
    if (push?.authorization !== undefined && !/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(push.authorization)) {
      report([...path, 'authorization'], 'must be one line of ASCII, such as Bearer and a token')
    }
    if (push && app.environment === 'production' && !/^https:/i.test(push.url)) {
      report([...path, 'url'], 'must begin with https:// in production')
    }
  }
}
