// engine: none
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { buildContext, commandOf, instructionsOf, pairsOf, readDockerfile } from '../support/dockerfile.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const manifest = JSON.parse(read('package.json'))
const stages = readDockerfile(read('Dockerfile'))
const last = stages.at(-1)

t.test('contains only runtime files in the last stage, and no build tools', async (t) => {
  if (!last) return t.fail('no stage')
  t.equal(stages.length, 2)
  for (const { from } of stages) t.match(from, /\/node:24-slim$/, "the runtime's official image")
  const copies = instructionsOf(last, 'COPY')
  t.strictSame(copies, ['--from=build /build/image ./'], 'only the output of .dev/image.mjs')
  const [removal = '', ...others] = instructionsOf(last, 'RUN')
  t.strictSame(others, [])
  for (const path of ['lib/node_modules', 'bin/npm', 'bin/npx', 'bin/corepack']) {
    t.ok(removal.includes(` /usr/local/${path} `), `${path} is removed`)
  }
  t.equal(instructionsOf(last, 'USER').at(-1), '1000:1000')
  t.match(removal, 'install -d -o 1000 -g 1000 -m 700 /app/data', 'the data directory belongs to that user')
  t.strictSame(instructionsOf(last, 'VOLUME'), ['/app/data'])
  t.strictSame(instructionsOf(last, 'WORKDIR'), ['/app'])
})

t.test('starts as `npm start` does, as the first process', async (t) => {
  if (!last) return t.fail('no stage')
  t.equal(
    commandOf(instructionsOf(last, 'CMD')[0]).join(' '),
    manifest.scripts.start.replace('.dev/start.mjs', 'dist/main.js'),
  )
  t.strictSame(commandOf(instructionsOf(last, 'ENTRYPOINT')[0]), [], 'no shell in between')
  const env = pairsOf(last, 'ENV')
  t.match(env.PATH, /^\/app\/bin:/, 'svc is on the PATH')
  t.strictSame(instructionsOf(last, 'EXPOSE'), [env.PORT])
  const [health = ''] = instructionsOf(last, 'HEALTHCHECK')
  t.equal(commandOf(health)[0], 'node')
  t.match(health, '/health/live')
})

t.test('has labels with this version', async (t) => {
  if (!last) return t.fail('no stage')
  const labels = pairsOf(last, 'LABEL')
  t.equal(labels['org.opencontainers.image.version'], manifest.version)
  t.equal(labels['org.opencontainers.image.title'], manifest.name)
  t.equal(labels['org.opencontainers.image.licenses'], manifest.license)
  t.ok(labels['org.opencontainers.image.description'])
  t.ok(labels['org.opencontainers.image.revision'])
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
  const [volume, port] = [instructionsOf(last, 'VOLUME')[0], pairsOf(last, 'ENV').PORT]
  for (const file of ['README.md', 'docs/deployment.md']) {
    const [command = ''] = /^docker run --detach .*$/m.exec(read(file)) ?? []
    t.match(command, `--read-only --tmpfs /tmp --publish ${port}:${port} --volume svc-data:${volume} svc`, file)
  }
})
