// lane: all
import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { serverUser } from './postgresql-server.ts'

/** A place with its own network interface, where the processes of a node run. */
export interface Place {
  /** The address that they listen on. */
  address: string
  /** The command that runs a program here, as the user of the servers. */
  command(program: string, args: string[]): string[]
  /** Drops every packet from and to it. Connections stay open without answers. */
  unplug(): void
  plugIn(): void
}

/** A switch that connects places with each other and with this machine. */
export interface Switch {
  /** The address of this machine. */
  address: string
  /** The range of all addresses. */
  range: string
  connect(name: string): Place
}

const prefix = '10.231.0'

function ip(...args: string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`)
}

/** Opens a switch (a Linux bridge with network namespaces), which only root may do. Removed with the test. */
export function openSwitch(t: Test): Switch {
  const bridge = `svc${process.pid}`
  ip('link', 'add', bridge, 'type', 'bridge')
  t.teardown(() => ip('link', 'del', bridge))
  ip('addr', 'add', `${prefix}.1/24`, 'dev', bridge)
  ip('link', 'set', bridge, 'up')
  let count = 0
  const connect = (name: string): Place => {
    const namespace = `${bridge}-${name}`
    const link = `${bridge}v${count}`
    const address = `${prefix}.${10 + count++}`
    ip('netns', 'add', namespace)
    t.teardown(() => ip('netns', 'del', namespace))
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    ip('link', 'set', link, 'master', bridge, 'up')
    ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
    for (const device of ['eth0', 'lo']) ip('-n', namespace, 'link', 'set', device, 'up')
    const { uid, gid } = serverUser() ?? { uid: 0, gid: 0 }
    const asServer = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
    return {
      address,
      command: (program, args) => ['ip', 'netns', 'exec', namespace, ...asServer, program, ...args],
      unplug: () => ip('link', 'set', link, 'down'),
      plugIn: () => ip('link', 'set', link, 'up'),
    }
  }
  return { address: `${prefix}.1`, range: `${prefix}.0/24`, connect }
}
