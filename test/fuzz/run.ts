// npm run fuzz -- <target> [--seconds 600]: feeds mutations of the inputs in `corpus` to a parser, and prefers those that reach
// new branches. It writes them to `.tap/fuzz/<target>`, for the next run. An input that breaks the parser is written to
// `corpus/<target>`, and stays as a test.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { fuzzer } from './tools.ts'

const root = resolve(import.meta.dirname, '../..')
const corpora = join(import.meta.dirname, 'corpus')

/** Bundles the targets, so that the fuzzer counts the branches of svc and of the packages that parse. */
export async function bundleTargets(folder: string): Promise<string> {
  const outfile = join(folder, 'targets.mjs')
  await build({
    absWorkingDir: root,
    entryPoints: ['test/fuzz/targets.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: 'inline',
    external: ['@node-rs/*', 'libsql', 'pg', 'piscina', 'ioredis'],
    banner: { js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);" },
    logLevel: 'error',
  })
  return outfile
}

interface Options {
  /** How long to mutate. */
  seconds: number
  /** The folder for inputs that reach new branches. */
  found: string
  /** Whether to print what the fuzzer prints. */
  isShown?: boolean
}

/** Fuzzes one target; returns its exit code and output. */
export function fuzz(
  bundle: string,
  target: string,
  { seconds, found, isShown = false }: Options,
): Promise<{ code: number | null; output: string }> {
  const installed = fuzzer()
  if (!installed) throw new Error('The fuzzer is not installed: npm run fuzz:tools')
  const known = join(corpora, target)
  mkdirSync(found, { recursive: true })
  const args = [
    ...[...installed.args, bundle, '-f', target],
    ...(target === 'dpop' ? [] : ['--sync']),
    ...['--disable_bug_detectors=.*', found, known, '--'],
    ...['-max_len=4096', '-timeout=5', '-rss_limit_mb=2048'],
    ...[`-artifact_prefix=${known}/`, `-max_total_time=${seconds}`],
  ]
  // In an empty environment: the test runner adds itself to that of each child process, and its listener for signals would
  // end the fuzzer at the first tick of the clock that finds inputs without an end.
  const { PATH, HOME } = process.env
  const environment = ['-i', `PATH=${PATH}`, `HOME=${HOME}`]
  const child = spawn('env', [...environment, installed.program, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part) => {
      output += part
      if (isShown) process.stderr.write(part)
    })
  }
  return new Promise((done) => {
    child.once('exit', (code, signal) => done({ code, output: signal ? `${output}\n${signal}` : output }))
  })
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: 'string', default: '600' } },
  })
  const [target = ''] = positionals
  const targets = readdirSync(corpora)
  if (!targets.includes(target)) {
    process.stderr.write(`npm run fuzz -- ${targets.join('|')} [--seconds 600]\n`)
    process.exit(2)
  }
  const work = join(root, '.tap/fuzz')
  mkdirSync(work, { recursive: true })
  const options = { seconds: Number(values.seconds), found: join(work, target), isShown: true }
  const { code } = await fuzz(await bundleTargets(work), target, options)
  process.exitCode = code ?? 1
}
