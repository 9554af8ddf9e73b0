// engine: none
// lane: all
import { spawn } from 'node:child_process'
import { appendFileSync, cpSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { freePort, temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('npm run dev prints readable lines and restarts when a source file changes', async (t) => {
  // A copy, so that the change affects no other test.
  const checkout = temporaryDirectory(t)
  for (const path of ['.dev', 'prisma', 'src', 'package.json']) {
    cpSync(join(root, path), join(checkout, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const { PATH, HOME } = process.env
  const dev = spawn(process.execPath, ['.dev/dev.mjs'], {
    cwd: checkout,
    env: { PATH, HOME, PORT: String(await freePort()) },
    detached: true,
  })
  const ended = new Promise<number | null>((done) => dev.once('close', done))
  t.teardown(async () => {
    if (dev.pid && dev.exitCode === null) process.kill(-dev.pid, 'SIGKILL')
    await ended
  })
  let output = ''
  for (const stream of [dev.stdout, dev.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const starts = () => output.match(/^\[[\d:.]+\] INFO: listening on http:\S+$/gm)?.length ?? 0

  await until(() => output.includes('Create a user'))
  t.ok(starts() > 0, output)
  t.notMatch(output, /^\{/m, 'no JSON')
  const before = starts()
  appendFileSync(join(checkout, 'src/platform/version.ts'), '\n')
  await until(() => starts() > before)
  dev.kill('SIGTERM')
  t.equal(await ended, 0, output)
})
