import type { Path, Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { signalsScope } from '../sections/admin.ts'

/** Rules about streams of signals. */
export const signalChecks = [streamsCanBeRead] as const

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
