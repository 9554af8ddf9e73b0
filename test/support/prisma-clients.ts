import type { ClientOptions, OpenClient } from '../../src/platform/database/database.ts'

type Adapter = ClientOptions['adapter']

/** Connects a client to the database of the app that uses it now. */
class Switch implements Adapter {
  current: Adapter

  constructor(first: Adapter) {
    this.current = first
  }

  get provider() {
    return this.current.provider
  }

  get adapterName() {
    return this.current.adapterName
  }

  connect() {
    return this.current.connect()
  }
}

interface Idle {
  client: object
  adapter: Switch
}

const idle = new Map<unknown, Idle[]>()
const switches = new WeakMap<object, { Client: unknown; adapter: Switch }>()

/** Reuses the client of a closed app: compiling its queries again would take a tenth of an app's time. */
export const reuseClient: OpenClient = (Client, options) => {
  const free = idle.get(Client)?.pop()
  if (free) {
    free.adapter.current = options.adapter
    return free.client as InstanceType<typeof Client>
  }
  const adapter = new Switch(options.adapter)
  const client = new Client({ ...options, adapter })
  switches.set(client as object, { Client, adapter })
  return client
}

/** Gives a disconnected client back. */
export function releaseClient(client: object): void {
  const found = switches.get(client)
  if (!found) return
  const { Client, adapter } = found
  idle.set(Client, [...(idle.get(Client) ?? []), { client, adapter }])
}
