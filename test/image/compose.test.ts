// engine: none
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parseConfig } from '../../src/platform/config/load.ts'
import { instructionsOf, readDockerfile } from '../support/dockerfile.ts'
import { temporaryDirectory } from '../support/process.ts'

const root = resolve(import.meta.dirname, '../..')
const examples = join(root, 'config/examples')
const text = readFileSync(join(examples, 'compose.yaml'), 'utf8')
const compose = parse(text)
const { svc, ...others } = compose.services

t.test('waits for the health of each service, and has minimal privileges', async (t) => {
  for (const [name, service] of Object.entries<{ healthcheck: { test: string[] } }>(others)) {
    t.equal(service.healthcheck.test[0], 'CMD', `${name} has a health check`)
    t.strictSame(svc.depends_on[name], { condition: 'service_healthy' })
  }
  t.strictSame(Object.keys(svc.depends_on), Object.keys(others))
  t.ok(existsSync(join(examples, svc.build, 'Dockerfile')))
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
  for (const name of ['svc_secret', 'postgres_password', 'database_url'])
    t.match(text, new RegExp(`> secrets/${name}[;)]`), `how to create ${name}`)
})

t.test('passes configuration, environment and secrets to svc', async (t) => {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'secrets'))
  writeFileSync(join(folder, 'secrets/svc_secret'), 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M\n')
  writeFileSync(join(folder, 'secrets/database_url'), 'postgresql://svc:word@postgres:5432/svc\n')
  t.equal(svc.volumes[1], './secrets:/run/secrets:ro', 'a directory')
  const [from, to] = svc.volumes[0].split(':')
  const file = join(examples, from, svc.environment.SVC_CONFIG.replace(to, ''))
  const yaml = readFileSync(file, 'utf8').replaceAll('/run/secrets/', `${folder}/secrets/`)
  const { config, warnings } = parseConfig({ text: yaml, file, env: svc.environment, cwd: folder })
  t.match(config.database, { engine: 'postgresql' })
  t.equal(config.redis.url, 'redis://redis:6379')
  t.equal(config.app.environment, 'production')
  t.strictSame(warnings, [])
  const manual = readFileSync(join(root, 'config/reference.yaml'), 'utf8')
  for (const name of Object.keys(svc.environment)) t.match(manual, new RegExp(`\\b${name}\\b`), `${name} is known`)
})
