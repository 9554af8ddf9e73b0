// engine: none
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { buildContext, commandOf, instructionsOf, pairsOf, readDockerfile } from '../support/dockerfile.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const manifest = JSON.parse(read('package.json'))
const stages = readDockerfile(read('Dockerfile'))
const last = stages.at(-1)

t.test('contains only runtime files, in layers that never had a package manager', async (t) => {
  const [build, system] = stages
  if (!last || !build || !system) return t.fail('no stage')
  t.equal(stages.length, 3)
  for (const { from } of [build, system]) t.match(from, /\/node:24-slim$/, "the runtime's official image")
  t.equal(last.from, 'scratch')
  t.strictSame(instructionsOf(last, 'COPY'), ['--from=system / /', '--from=build /build/image ./'])
  t.strictSame(instructionsOf(last, 'RUN'), [])
  const [removal = '', ...others] = instructionsOf(system, 'RUN')
  t.strictSame(others, [])
  for (const path of ['lib/node_modules', 'bin/npm', 'bin/npx', 'bin/corepack', 'bin/yarn']) {
    t.ok(removal.includes(` /usr/local/${path} `), `${path} is removed`)
  }
  t.equal(instructionsOf(last, 'USER').at(-1), '1000:1000')
  t.match(removal, 'install -d -o 1000 -g 1000 -m 700 /app/data', 'the data directory belongs to that user')
  t.strictSame(instructionsOf(last, 'VOLUME'), [], 'containers with PostgreSQL leave no volume behind')
  t.strictSame(instructionsOf(last, 'WORKDIR'), ['/app'])
})

t.test('starts with the flags of `npm start`', async (t) => {
  if (!last) return t.fail('no stage')
  t.strictSame(commandOf(instructionsOf(last, 'CMD')[0]), ['start'])
  const [, flags = ''] = /^node (.*) \S+$/.exec(manifest.scripts.start) ?? []
  const [, own = ''] = /^node ([^"]*)"/m.exec(read('.dev/container/start').replaceAll('\\\n', '')) ?? []
  t.strictSame(own.trim().split(/ +/), ['--disable-sigusr1', ...flags.split(' ')])
  const env = pairsOf(last, 'ENV')
  t.match(env.PATH, /^\/app\/bin:.*:\/usr\/local\/bin:/, 'svc is on the PATH')
  t.strictSame(instructionsOf(last, 'EXPOSE'), [env.PORT])
  t.strictSame(commandOf(instructionsOf(last, 'HEALTHCHECK')[0]), ['healthcheck'])
  for (const name of ['start', 'healthcheck']) t.ok(statSync(join(root, '.dev/container', name)).mode & 0o111, name)
})

t.test('has labels with this version', async (t) => {
  if (!last) return t.fail('no stage')
  const labels = pairsOf(last, 'LABEL')
  t.equal(labels['org.opencontainers.image.version'], manifest.version)
  t.equal(labels['org.opencontainers.image.title'], manifest.name)
  t.equal(labels['org.opencontainers.image.licenses'], manifest.license)
  t.ok(labels['org.opencontainers.image.description'])
  for (const name of ['revision', 'source', 'vendor', 'base.name'])
    t.ok(labels[`org.opencontainers.image.${name}`], name)
})

t.test('includes only the sources in the build context', async (t) => {
  const files = buildContext(root)
  for (const file of ['package-lock.json', '.npmrc', '.dev/build.mjs', 'src/main.ts', 'config/svc.yaml']) {
    t.ok(files.includes(file), file)
  }
  const tops = new Set(files.map((file) => file.split('/')[0]))
  const wanted = ['.dev', '.npmrc', 'config', 'package-lock.json', 'package.json', 'prisma', 'src', 'tsconfig.json']
  t.strictSame([...tops].sort(), wanted)
  t.notOk(files.some((file) => file.startsWith('prisma/.derived/')))
})

t.test('matches the commands of the documentation', async (t) => {
  if (!last) return t.fail('no stage')
  const { PORT: port } = pairsOf(last, 'ENV')
  for (const file of ['README.md', 'docs/deployment.md']) {
    const [command = ''] = /^docker run --detach .*$/m.exec(read(file)) ?? []
    t.match(command, `--read-only --tmpfs /tmp --publish ${port}:${port} --volume svc-data:/app/data svc`, file)
  }
})
