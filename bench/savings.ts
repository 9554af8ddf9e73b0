// npm run bench:savings [-- name…]: what each shortcut and each flag of Node saves. `flags` names the flags. See "Savings" in
// bench/README.md.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Shortcut, shortcuts } from '../src/features/oauth/protocol/shortcuts/shortcuts.ts'
import { Bench, startFlags } from './support/bench.ts'
import { codeFlows, visited } from './support/code-flows.ts'
import {
  benchClients,
  clientCredentialsRequests,
  introspectionRequests,
  jwtRequests,
  oauthSettings,
  refreshing,
  userTokens,
} from './support/oauth-requests.ts'
import { databaseOf, type LoadRequests, sampler, warmUp } from './support/operations.ts'
import { type Running, residentMemory } from './support/processes.ts'
import { median, rounded } from './support/report.ts'
import { bearerRequests, password, sessionCookies } from './support/requests.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'
import { settlePostgresql } from './support/rows.ts'
import { type FlagSaving, type SavingsReport, type ShortcutSaving, updateSavings } from './support/savings-readme.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '5' } },
})
const root = join(import.meta.dirname, '..')
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)]
const options = { seconds, rounds, connections: 64 }
const bench = new Bench({ ...options, dist: 'dist' })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Users with tokens. Each token costs a password check. */
const owners = 100
const tokensOf = ({ port }: Running) => userTokens(port, owners, password)

/** The requests of each operation. */
const operations = {
  introspection: async (server: Running) => introspectionRequests((await tokensOf(server)).access),
  userinfo: async (server: Running) => jwtRequests('/oauth/userinfo', (await tokensOf(server)).access),
  'client-credentials': async () => clientCredentialsRequests,
  refresh: async ({ port }: Running) =>
    refreshing((await userTokens(port, 4 * owners, password, 'orders:read')).refresh),
  'code-flow': async ({ port }: Running): Promise<LoadRequests> => {
    const cookies = await Promise.all(sessionCookies(owners).map((cookie) => visited(port, benchClients.web, cookie)))
    const nextCookie = () => cookies[Math.floor(Math.random() * cookies.length)] ?? ''
    return { next: codeFlows(benchClients.web, nextCookie), steps: 2 }
  },
}
type Operation = keyof typeof operations

const writing = ['refresh', 'code-flow'] as const

/** The operations that a shortcut is for, and its files. */
const uses: Record<Shortcut, { operations: readonly Operation[]; files: readonly string[] }> = {
  introspection: { operations: ['introspection'], files: ['client-secret.ts'] },
  'user-info': { operations: ['userinfo'], files: ['user-info.ts'] },
  'client-credentials': { operations: ['client-credentials'], files: ['client-credentials.ts'] },
  'user-tokens': { operations: writing, files: ['user-tokens.ts', 'exchangeable.ts'] },
  'joint-writes': { operations: writing, files: ['joint-writes.ts'] },
  'deferred-writes': { operations: ['code-flow'], files: ['deferred-writes.ts'] },
  'write-batches': { operations: writing, files: ['write-batch.ts'] },
  'known-expiries': { operations: ['code-flow'], files: ['known-expiries.ts'] },
}

const isWanted = (name: string): boolean => positionals.length === 0 || positionals.includes(name)

const linesOf = (files: readonly string[]): number =>
  files
    .map(
      (file) => readFileSync(join(root, 'src/features/oauth/protocol/shortcuts', file), 'utf8').split('\n').length - 1,
    )
    .reduce((sum, lines) => sum + lines)

/** The processor time of each operation in svc and PostgreSQL, with and without a shortcut in turns. */
async function measureShortcut(shortcut: Shortcut): Promise<ShortcutSaving[]> {
  const dist = join(root, `dist.without-${shortcut}`)
  const env = { ...process.env, SVC_WITHOUT: shortcut }
  const built = spawnSync(process.execPath, [join(root, '.dev/build.mjs')], { env, stdio: 'inherit' })
  if (built.status !== 0) throw new Error(`The build without ${shortcut} failed.`)
  const url = await databaseOf(bench)
  await settlePostgresql(url, 1)
  const servers = [
    await bench.startSvc(url, oauthSettings('ES256')),
    await bench.startSvc(url, oauthSettings('ES256'), { dist }),
  ]
  const found: ShortcutSaving[] = []
  const { operations, files } = uses[shortcut]
  for (const operation of operations) {
    const [taken = 0, without = 0] = await measureInTurns(servers, operation)
    found.push({ shortcut, operation, lines: linesOf(files), with: rounded(taken, 0), without: rounded(without, 0) })
    process.stderr.write(`${shortcut}, ${operation}: ${Math.round(taken)} and ${Math.round(without)} µs\n`)
  }
  for (const server of servers) await server.stop()
  rmSync(dist, { recursive: true })
  return found
}

/** The median processor time of an operation on each server, in microseconds. */
async function measureInTurns(servers: readonly Running[], operation: Operation): Promise<number[]> {
  const { pid } = await bench.postgresql()
  const sample = async (server: Running, duration: number) => {
    const requests = await operations[operation](server)
    const { processor, database = 0 } = await sampler(bench, server, requests, options.connections, pid)(duration)
    return processor + database
  }
  for (const server of servers) await sample(server, warmUp)
  const times: number[][] = servers.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, server] of servers.entries()) times[index]?.push(await sample(server, seconds))
  }
  return times.map(median)
}

/** Starts per set of flags: the memory after a start varies by some MB. */
const starts = 5

/** Idle and loaded memory, and the processor time of a bearer check. */
async function measureFlags(flags: readonly string[]): Promise<Omit<FlagSaving, 'flag'>> {
  const url = await databaseOf(bench)
  await settlePostgresql(url, 1)
  const idle: number[] = []
  const start = async () => {
    const server = await bench.startSvc(url, oauthSettings('ES256'), { flags })
    await sleep(5_000)
    idle.push(residentMemory(server.pid))
    return server
  }

  for (let count = 1; count < starts; count++) await (await start()).stop()
  const server = await start()
  const bearer = sampler(bench, server, bearerRequests(1_000))
  await bearer(warmUp)
  const figures = [await bearer(seconds), await bearer(seconds), await bearer(seconds)]
  const refresh = await sampler(bench, server, await operations.refresh(server))(2 * seconds)
  await server.stop()
  return {
    idle: rounded(median(idle), 1),
    load: rounded(Math.max(...figures.map(({ memory }) => memory), refresh.memory), 1),
    time: rounded(median(figures.map(({ processor }) => processor)), 1),
  }
}

const results = join(import.meta.dirname, 'results/savings.json')

/** A run with names replaces only what it measured. */
function merged(report: SavingsReport): SavingsReport {
  const before: SavingsReport = JSON.parse(readFileSync(results, 'utf8'))
  const isOld = ({ shortcut }: ShortcutSaving) => !report.shortcuts.some((each) => each.shortcut === shortcut)
  const kept = before.shortcuts.filter((each) => shortcuts.some((name) => name === each.shortcut) && isOld(each))
  const order: readonly string[] = shortcuts
  const all = [...kept, ...report.shortcuts].sort((a, b) => order.indexOf(a.shortcut) - order.indexOf(b.shortcut))
  return { ...report, shortcuts: all, flags: report.flags.length > 0 ? report.flags : before.flags }
}

try {
  const measuredShortcuts: ShortcutSaving[] = []
  for (const shortcut of shortcuts.filter(isWanted)) measuredShortcuts.push(...(await measureShortcut(shortcut)))
  const flags: FlagSaving[] = []
  if (isWanted('flags')) {
    for (const left of [null, ...startFlags]) {
      const measured = await measureFlags(startFlags.filter((flag) => flag !== left))
      flags.push({ flag: left, ...measured })
      process.stderr.write(`${left ? `without ${left}` : 'all flags'}: ${JSON.stringify(measured)}\n`)
    }
  }
  const machine = { ...machineFacts(), postgresql: await bench.postgresqlVersion() }
  const report: SavingsReport = {
    date: new Date().toISOString(),
    commit: commit(),
    machine,
    options,
    shortcuts: measuredShortcuts,
    flags,
  }
  writeFileSync(results, `${jsonOf(merged(report))}\n`)
  updateSavings()
} finally {
  await bench.close()
}
