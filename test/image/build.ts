import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import type { Test } from 'tap'
import { buildContext, instructionsOf, pairsOf, type Stage } from '../support/dockerfile.ts'
import { plainUser, run } from './container.ts'

const source = resolve(import.meta.dirname, '../..')

/** Environment variables that a build may need to reach the registry. */
const passedOn = /^(https?_proxy|no_proxy|npm_config_registry|node_extra_ca_certs|ssl_cert_file)$/i

/** A directory that acts as the root of a container's file system. */
export interface Root {
  path: string
  /** Where a path of the container is in it. */
  at(path: string): string
  env: Record<string, string>
}

/** A root with Node and npm where the official image has them. */
export function baseImage(t: Test): Root {
  const path = mkdtempSync(join(tmpdir(), 'svc-image-'))
  t.teardown(() => {
    for (const folder of writableAgain(path)) chmodSync(folder, 0o755)
    rmSync(path, { recursive: true, force: true })
  })
  chmodSync(path, 0o755)
  const at = (inside: string) => join(path, inside)
  mkdirSync(at('usr/local/bin'), { recursive: true })
  mkdirSync(at('usr/local/lib/node_modules'), { recursive: true })
  cpSync(realpathSync(process.execPath), at('usr/local/bin/node'))
  cpSync(npmFolder(), at('usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', at('usr/local/bin/npm'))
  changeOwner(path)
  const inherited = Object.entries(process.env).filter(([name]) => passedOn.test(name))
  const env = { ...Object.fromEntries(inherited), HOME: path, PATH: `${at('usr/local/bin')}:/usr/bin:/bin` }
  return { path, at, env: env as Record<string, string> }
}

/** Runs the steps of a stage, as the unprivileged user. */
export async function buildStage(root: Root, stage: Stage): Promise<void> {
  let folder = root.path
  for (const { name, text } of stage.instructions) {
    if (name === 'WORKDIR') {
      folder = root.at(text)
      mkdirSync(folder, { recursive: true })
      changeOwner(folder)
    }
    if (name === 'COPY') copy(text, folder)
    if (name === 'RUN') {
      const { code, output } = await run(['sh', '-c', text], { cwd: folder, env: root.env })
      if (code !== 0) throw new Error(`${text} failed:\n${output}`)
    }
  }
}

/** Builds the last stage: the files that it copies from another one, and its environment. It installs nothing. */
export function lastStage(root: Root, stage: Stage): { folder: string; env: Record<string, string> } {
  const folder = root.at(instructionsOf(stage, 'WORKDIR')[0] ?? '')
  for (const text of instructionsOf(stage, 'COPY')) {
    const [, from = '', to = ''] = text.split(' ')
    // The root has only what the system needs here.
    if (to === '/') continue
    cpSync(root.at(from), join(folder, to), { recursive: true, verbatimSymlinks: true })
  }
  for (const place of ['usr/local/lib/node_modules', 'usr/local/bin/npm']) rmSync(root.at(place), { recursive: true })
  const { PATH = '', ...env } = pairsOf(stage, 'ENV')
  const path = PATH.replace(/^\/app\/bin:.*$/, `${root.at('app/bin')}:${root.env.PATH}`)
  return { folder, env: { ...env, PATH: path } }
}

function copy(text: string, folder: string): void {
  const words = text.split(' ')
  const to = words.pop() ?? ''
  for (const file of buildContext(source)) {
    const from = words.find((word) => word === '.' || word === file)
    if (from === undefined) continue
    const target = join(folder, to, from === '.' ? file : (file.split('/').at(-1) ?? ''))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(source, file), target, { preserveTimestamps: true })
  }
  changeOwner(folder)
}

function npmFolder(): string {
  const programs = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'npm'))
  for (const program of [process.env.npm_execpath ?? '', ...programs]) {
    try {
      const cli = realpathSync(program)
      if (cli.endsWith(join('npm', 'bin', 'npm-cli.js'))) return dirname(dirname(cli))
    } catch {
      // It is missing there.
    }
  }
  throw new Error('npm is not on the PATH')
}

/** Gives a folder and its content to the unprivileged user. */
export function changeOwner(folder: string, owner = plainUser): void {
  if (!owner) return
  chownSync(folder, owner.uid, owner.gid)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) changeOwner(path, owner)
    else if (entry.isFile()) chownSync(path, owner.uid, owner.gid)
  }
}

function writableAgain(folder: string): string[] {
  const below = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [folder, ...below.map((entry) => join(entry.parentPath, entry.name))]
}
