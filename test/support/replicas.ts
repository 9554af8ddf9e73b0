import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import type { Settings } from './app.ts'
import { Balancer } from './balancer.ts'
import { createTestDatabase } from './postgresql.ts'
import { freePort, type Running, runCli, startMain, temporaryDirectory } from './process.ts'

const shiftedClock = pathToFileURL(join(import.meta.dirname, 'shifted-clock.mjs')).href

/** Several processes on one database behind one address. */
export interface Replicas {
  /** The balancer's address, which is `app.url`. */
  url: string
  balancer: Balancer
  all: Running[]
  databaseUrl: string
  /** Starts another replica, with a clock offset in milliseconds, and waits until it gets requests. */
  add(offBy?: number): Promise<Running>
  /** Runs a command beside them. */
  svc(args: string[], input?: string): Promise<string>
}

/** Starts replicas on a separate database; the settings may depend on their address. */
export async function startReplicas(
  t: Test,
  count: number,
  settingsFor: (url: string) => Settings | Promise<Settings> = () => ({}),
): Promise<Replicas> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const balancer = await Balancer.start(t)
  const url = `http://localhost:${balancer.port}`
  const cwd = temporaryDirectory(t)
  const { app, ...rest } = await settingsFor(url)
  writeFileSync(join(cwd, 'svc.yaml'), stringify({ app: { url, ...(app ?? {}) }, ...rest }))
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    SVC_CONFIG: 'svc.yaml',
  }
  const all: Running[] = []
  const add = async (offBy = 0) => {
    const shift = offBy === 0 ? {} : { CLOCK_OFF_BY: String(offBy), NODE_OPTIONS: `--import=${shiftedClock}` }
    const replica = await startMain(t, { cwd, env: { ...env, ...shift, PORT: String(await freePort()) } })
    all.push(replica)
    await balancer.add(replica.port)
    return replica
  }
  await Promise.all(Array.from({ length: count }, () => add()))
  const svc = async (args: string[], input = '') => {
    const { code, stdout, stderr } = await runCli(args, { cwd, env, input: `${input}\n` })
    if (code !== 0) throw new Error(stderr)
    return stdout
  }
  return { url, balancer, all, databaseUrl: database.url, add, svc }
}
