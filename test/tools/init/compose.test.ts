// engine: none
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { runTerminalCommand } from '../../support/command.ts'
import { instructionsOf, readDockerfile } from '../../support/dockerfile.ts'
import { temporaryDirectory } from '../../support/process.ts'

const root = resolve(import.meta.dirname, '../../..')
const folder = temporaryDirectory(t)
const words = ['--url=https://auth.example.com', '--mail=file:/tmp', '--database=postgresql', '--deploy=compose']
await runTerminalCommand('init', '--yes', ...words, `--directory=${folder}`)
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
const compose = parse(text)
const { svc, ...others } = compose.services

t.test('waits for the health of each service, and has minimal privileges', async (t) => {
  for (const [name, service] of Object.entries<{ healthcheck: { test: string[] } }>(others)) {
    t.equal(service.healthcheck.test[0], 'CMD', `${name} has a health check`)
    t.strictSame(svc.depends_on[name], { condition: 'service_healthy' })
  }
  t.strictSame(Object.keys(svc.depends_on), Object.keys(others))
  const last = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8')).at(-1)
  t.match(
    svc.ports[0],
    new RegExp(`^127\\.0\\.0\\.1:\\$\\{SVC_PORTS:-8000\\}:${last && instructionsOf(last, 'EXPOSE')[0]}$`),
  )
  t.match(svc, { read_only: true, tmpfs: ['/tmp'], cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
})

t.test('declares and uses everything that it names', async (t) => {
  const services = Object.values<{ secrets?: string[]; networks: string[]; volumes: string[] }>(compose.services)
  const used = (key: 'secrets' | 'networks') => [...new Set(services.flatMap((service) => service[key] ?? []))].sort()
  t.strictSame(used('secrets'), Object.keys(compose.secrets).sort())
  t.strictSame(used('networks'), Object.keys(compose.networks).sort())
  const volumes = services.flatMap((service) => service.volumes.map((volume) => volume.split(':')[0] ?? ''))
  t.strictSame(volumes.filter((name) => !name.startsWith('.')).sort(), Object.keys(compose.volumes).sort())
  for (const { file } of Object.values<{ file: string }>(compose.secrets)) t.ok(existsSync(join(folder, file)), file)
})

t.test('passes configuration, environment and secrets to svc', async (t) => {
  t.equal(svc.volumes[0], './:/etc/svc:ro', 'a directory')
  t.equal(svc.environment.SVC_CONFIG, '/etc/svc/svc.yaml')
  const file = join(folder, 'svc.yaml')
  const yaml = readFileSync(file, 'utf8').replaceAll('/etc/svc/', `${folder}/`)
  const { config, warnings } = parseConfig({ text: yaml, file, env: svc.environment, cwd: folder })
  t.match(config.database, { engine: 'postgresql' })
  t.equal(config.redis.url, 'redis://redis:6379')
  t.equal(config.app.environment, 'production')
  t.strictSame(warnings, [])
  const manual = readFileSync(join(root, 'config/reference.yaml'), 'utf8')
  for (const name of Object.keys(svc.environment)) t.match(manual, new RegExp(`\\b${name}\\b`), `${name} is known`)
})
