import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import type { Flip } from '../../src/cli/plan/replay.ts'
import { DecisionRecorder } from '../../src/features/decision-log/recorder.ts'
import { buildTestApp, type Settings, type TestApp } from './app.ts'
import { runCommandOn } from './command.ts'
import { temporaryDirectory } from './process.ts'

/** What `svc config:plan --json` prints. */
interface Plan {
  changes: string[]
  restart: string[]
  problems: string[]
  affected: { what: string; count: number; users: number[] }[]
  replay: { decisions: number; missing: number; changed_before: number; flips: Flip[] } | null
  /** Exit code of the command. */
  code: number
}

export interface Planned extends TestApp {
  /** Plans to replace the configuration of the app by this one. */
  plan(settings: Settings, ...words: string[]): Promise<Plan>
  /** The same, as a person reads it. */
  read(settings: Settings, ...words: string[]): Promise<string[]>
  /** Writes the decisions that the app recorded. */
  flush(): Promise<void>
}

const own = { environment: 'development', secret: 'the-secret-of-the-tests-is-32-bytes-long' }

/** An app that records its decisions, and plans of changes to its configuration. */
export async function buildPlanned(t: Test, settings: Settings): Promise<Planned> {
  const svc = await buildTestApp(t, { settings: { audit: { decisions: { enabled: true } }, ...settings } })
  const folder = temporaryDirectory(t)
  const file = (name: string, content: Settings): string => {
    const path = join(folder, name)
    writeFileSync(path, stringify({ ...content, app: { ...own, ...Object(content.app) } }))
    return path
  }
  const run = async (content: Settings, words: readonly string[]) => {
    const lines = await runCommandOn(
      svc,
      'config:plan',
      file('new.yaml', content),
      `--against=${file('old.yaml', settings)}`,
      ...words,
    )
    const code = Number(process.exitCode ?? 0)
    process.exitCode = 0
    return { lines, code }
  }
  return Object.assign(svc, {
    plan: async (content: Settings, ...words: string[]) => {
      const { lines, code } = await run(content, ['--json', ...words])
      return { ...JSON.parse(lines.join('')), code }
    },
    read: async (content: Settings, ...words: string[]) => (await run(content, words)).lines,
    flush: async () => {
      if (!(svc.app.decisionLog instanceof DecisionRecorder)) throw new Error('The app records no decisions.')
      await svc.app.decisionLog.flush()
    },
  })
}

/** Rules of a guard in front of an API. */
export const rules = [
  { name: 'orders', hosts: ['api.example.com'], paths: ['/orders/*'] },
  { name: 'public', hosts: ['api.example.com'], paths: ['/public/*'], access: 'public' },
]

/** Asks the guard as a proxy does. */
export const ask = ({ app }: Planned, path: string, headers: Record<string, string> = {}) =>
  app.inject({
    url: '/svc/guard',
    remoteAddress: '127.0.0.1',
    headers: {
      'x-forwarded-method': 'GET',
      'x-forwarded-host': 'api.example.com',
      'x-forwarded-uri': path,
      ...headers,
    },
  })

export const server = { trust_proxy: ['127.0.0.1'] }
