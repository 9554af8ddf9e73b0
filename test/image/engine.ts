// Part of `npm run check:image`: builds the image with a container engine and runs it, if an engine runs on this machine.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { Writers } from '../faults/writers.ts'
import { freePort } from '../support/port.ts'
import { requestWithBearer, sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

// `npm run check:image` runs this file without the test runner, which would set a timeout.
t.setTimeout(900_000)

const root = resolve(import.meta.dirname, '../..')
const base = 'node:24-slim'
const password = 'correct horse battery staple'

/** The client of an engine that runs. Another program may have the same name. */
const program = [process.env.DOCKER ?? 'docker', '/usr/bin/docker'].find(
  (each) => spawnSync(each, ['info']).status === 0,
)

function docker(args: readonly string[], input?: string) {
  const { status, stdout, stderr } = spawnSync(program ?? '', args, { encoding: 'utf8', input, maxBuffer: 1e8 })
  return { status, stdout, stderr, output: stdout + stderr }
}

function must(args: readonly string[], input?: string): string {
  const { status, stdout, output } = docker(args, input)
  if (status !== 0) throw new Error(`docker ${args.join(' ')} failed: ${output.slice(-2_000)}`)
  return stdout.trim()
}

/** Runs a container in the background; removed with the test. */
function runContainer(t: Test, options: readonly string[], command: readonly string[] = []): string {
  const id = must(['run', '--detach', ...options, 'svc:check', ...command])
  t.teardown(() => void docker(['rm', '--force', '--volumes', id]))
  return id
}

const stateOf = (id: string, part: string) => must(['inspect', '--format', `{{.State.${part}}}`, id])
const isHealthy = (id: string) => () => stateOf(id, 'Health.Status') === 'healthy'

if (!program) {
  process.stderr.write('*** NO CONTAINER ENGINE RUNS: THE IMAGE WAS NOT BUILT WITH ONE ***\n')
  t.notOk(process.env.SVC_ENGINE, 'an engine runs')
} else {
  const hasBase = docker(['image', 'inspect', base]).status === 0 || docker(['pull', base]).status === 0
  if (!hasBase) {
    const made = spawnSync(join(import.meta.dirname, 'base-image.sh'), { env: { ...process.env, DOCKER: program } })
    if (made.status !== 0) throw new Error(`base-image.sh failed: ${made.stderr}`)
  }
  must(['build', '--network', 'host', '--build-arg', `NODE_IMAGE=${base}`, '--tag', 'svc:check', root])

  t.test('has complete labels, no package manager and no volume of its own', async (t) => {
    const [{ Config }] = JSON.parse(must(['inspect', 'svc:check']))
    for (const name of ['title', 'description', 'licenses', 'vendor', 'version', 'revision', 'source', 'base.name'])
      t.ok(Config.Labels[`org.opencontainers.image.${name}`], name)
    t.equal(Config.Volumes ?? null, null)
    const look =
      "for name in npm npx corepack yarn; do command -v $name; done; find / -xdev -name '*musl*' -path '*/app/*'"
    t.equal(docker(['run', '--rm', 'svc:check', 'bash', '-c', look]).stdout, '')
  })

  t.test('serves a sign-in on a read-only root, in 192 MB and 32 processes, beside a command', async (t) => {
    const port = await freePort()
    const limits = ['--memory', '192m', '--memory-swap', '192m', '--pids-limit', '32']
    const volume = must(['volume', 'create'])
    const isolation = ['--read-only', '--tmpfs', '/tmp', '--volume', `${volume}:/app/data`]
    const id = runContainer(t, [...limits, ...isolation, '--publish', `127.0.0.1:${port}:8000`])
    t.teardown(() => void docker(['volume', 'rm', '--force', volume]))
    await until(isHealthy(id))
    const svc = (args: readonly string[], input = '') => docker(['exec', '--interactive', id, 'svc', ...args], input)
    t.match(svc(['user:create', '--email=ada@example.com', '--name=Ada', '--verified'], `${password}\n`), { status: 0 })
    const url = `http://127.0.0.1:${port}`
    const payload = { email: 'ada@example.com', password, device_name: 'Phone' }
    const answer = await sendRequest(url, { method: 'POST', url: '/svc/token', payload })
    t.equal(answer.statusCode, 200, answer.body)
    t.equal((await requestWithBearer(url, answer.json().token, '/api/user')).statusCode, 200)
    t.match(svc(['config:show']), { status: 0 })
    t.notMatch(svc(['config:show']).stdout, '"source":"file"', 'the file of the image sets nothing')
    t.match(svc(['doctor']), { status: 0, stdout: /^ok +ready/m })
    t.match(docker(['logs', id]).stdout, /^ {4}svc user:create --email/m, 'it prints the command of a container')

    // The way back of docs/backup.md.
    t.match(svc(['backup', 'data/backup.db']), { status: 0 })
    const folder = mkdtempSync(join(tmpdir(), 'svc-backup-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    must(['cp', `${id}:/app/data/backup.db`, folder])
    t.match(svc(['user:delete', '--email=ada@example.com', '--yes']), { status: 0 })
    t.equal((await sendRequest(url, { method: 'POST', url: '/svc/token', payload })).statusCode, 422)
    must(['stop', id])
    must(['cp', join(folder, 'backup.db'), `${id}:/app/data/backup.db`])
    const own = ['run', '--rm', '--volumes-from', id]
    t.match(
      docker([...own, 'svc:check', 'svc', 'restore', 'data/backup.db']).output,
      /cannot be read: it belongs to user 0/,
    )
    t.match(docker([...own, '--user', '0', 'svc:check', 'svc', 'restore', 'data/backup.db']), { status: 0 })
    must(['start', id])
    await until(isHealthy(id))
    t.equal((await sendRequest(url, { method: 'POST', url: '/svc/token', payload })).statusCode, 200)
    t.equal(stateOf(id, 'OOMKilled'), 'false')
  })

  t.test('stops on a signal at any time, without being killed', async (t) => {
    for (let times = 0; times < 20; times++) {
      const id = runContainer(t, [])
      must(['stop', id])
      t.match(stateOf(id, 'ExitCode'), /^(0|143)$/, `immediately, ${times}`)
    }
    const id = runContainer(t, [])
    await until(isHealthy(id))
    must(['stop', id])
    t.equal(stateOf(id, 'ExitCode'), '0')
    t.match(docker(['logs', id]).stdout, /svc received SIGTERM and stops/)
    for (const [signal, code] of [
      ['TERM', '143'],
      ['INT', '130'],
    ] as const) {
      const following = runContainer(t, [], ['svc', 'event:list', '--follow'])
      await until(() => docker(['top', following]).output.includes('event:list'))
      // The signal may come before the program handles it.
      await until(
        () => docker(['kill', '--signal', signal, following]).status !== 0 || stateOf(following, 'Running') === 'false',
      )
      t.equal(stateOf(following, 'ExitCode'), code, signal)
    }
  })

  t.test('is healthy on the port of the configuration where PORT is empty', async (t) => {
    const settings = '{ "server": { "port": 8123 } }'
    const command = ['bash', '-c', `echo '${settings}' > data/svc.yaml && SVC_CONFIG=data/svc.yaml exec start`]
    await until(isHealthy(runContainer(t, ['--env', 'PORT='], command)))
    t.pass('healthy')
  })

  t.test('loses no acknowledged write when it is killed and started again', async (t) => {
    const port = await freePort()
    const id = runContainer(t, ['--publish', `127.0.0.1:${port}:8000`])
    await until(isHealthy(id))
    const create = [
      'exec',
      '--interactive',
      id,
      'svc',
      'user:create',
      '--email=ada@example.com',
      '--name=Ada',
      '--verified',
    ]
    must(create, 'correct horse\n')
    const writers = await Writers.signIn(`http://127.0.0.1:${port}`, ['ada@example.com'])
    for (let kills = 0; kills < 3; kills++) {
      const wanted = writers.acknowledged + 50
      writers.start(4)
      await until(() => writers.acknowledged >= wanted)
      must(['kill', id])
      await writers.stop()
      must(['start', id])
      await until(isHealthy(id))
    }
    await writers.check(t)
  })

  const images = ['postgres:17', 'redis:8']
  const hasImage = (name: string) =>
    docker(['image', 'inspect', name]).status === 0 || docker(['pull', '--quiet', name]).status === 0
  if (docker(['compose', 'version']).status !== 0 || !images.every(hasImage)) {
    process.stderr.write(
      '*** THERE IS NO COMPOSE, OR NO POSTGRESQL AND REDIS FOR IT: THE FILE OF svc init WAS NOT RUN ***\n',
    )
  } else {
    t.test(
      'runs the Compose file of svc init for any user, with a second replica, and leaves no other volume',
      async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'svc-compose-'))
        const user = '1500:1500'
        chownSync(folder, 1500, 1500)
        const asUser = ['run', '--rm', '--user', user, '--volume', `${folder}:/work`, '--workdir', '/work', 'svc:check']
        const answers = ['--url=https://auth.example.com', '--mail=file:/tmp/mails', '--deploy=compose']
        must([...asUser, 'svc', 'init', '--yes', '--database=postgresql', ...answers])
        const port = await freePort()
        // Docker picks free ports of the range.
        const env = { ...process.env, SVC_PORTS: `${port}-${port + 20}` }
        const compose = (args: readonly string[], input?: string) => {
          const all = ['compose', '--project-name', `svc-${port}`, ...args]
          const { status, stdout, stderr } = spawnSync(program, all, { cwd: folder, encoding: 'utf8', input, env })
          if (status !== 0) throw new Error(`docker ${all.join(' ')} failed: ${stderr.slice(-2_000)}`)
          return stdout
        }
        t.teardown(() => {
          spawnSync(program, ['compose', '--project-name', `svc-${port}`, 'down', '--volumes'], { cwd: folder, env })
          rmSync(folder, { recursive: true })
        })
        must(['tag', 'svc:check', 'svc'])
        const volumes = () => must(['volume', 'ls', '--quiet']).split('\n').filter(Boolean)
        const before = volumes()
        compose(['up', '--detach', '--wait', '--no-build', '--scale', 'svc=2'])
        const create = ['svc', 'user:create', '--email=ada@example.com', '--name=Ada', '--verified']
        compose(['exec', '--no-TTY', 'svc', ...create], `${password}\n`)
        const ports = [1, 2].map((index) => compose(['port', '--index', String(index), 'svc', '8000']).trim())
        t.equal(new Set(ports).size, 2)
        for (const address of ports) {
          const payload = { email: 'ada@example.com', password, device_name: 'Phone' }
          // As the proxy on this machine, whose headers svc trusts.
          const headers = { 'x-forwarded-for': '203.0.113.9' }
          const answer = await sendRequest(`http://${address}`, { method: 'POST', url: '/svc/token', payload, headers })
          t.equal(answer.statusCode, 200, answer.body)
        }
        const show = ['svc', 'user:show', '--email=ada@example.com', '--json']
        t.match(compose(['exec', '--no-TTY', 'svc', ...show]), '203.0.113.9')
        t.notMatch(compose(['logs', 'svc']), /(redis|database) does not work|"level":"(error|fatal)"/)
        compose(['down'])
        const left = volumes().filter((name) => !before.includes(name))
        t.same(left.sort(), [`svc-${port}_postgres`, `svc-${port}_redis`])
      },
    )
  }
}
