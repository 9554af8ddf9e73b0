// npm run dev: runs src/main.ts, restarts it when a file that it imports changes, and prints its log in a readable form.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pretty from 'pino-pretty'
import { onParentEnd } from './parent.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const command = ['--watch', '--watch-preserve-output', join(root, 'src', 'main.ts')]
const server = spawn(process.execPath, command, { stdio: ['inherit', 'pipe', 'inherit'] })

const log = pretty({
  colorize: process.stdout.isTTY === true && !process.env.NO_COLOR,
  translateTime: 'SYS:HH:MM:ss.l',
  messageKey: 'msg',
  singleLine: true,
  // Writes each line before the next one is read, so that lines of both outputs keep their order.
  sync: true,
})
server.stdout.pipe(log)

// A terminal sends Ctrl-C to the server too. Wait until the server has stopped.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => server.kill(signal))
onParentEnd(() => server.kill('SIGTERM'))
server.on('exit', (code) => {
  process.exitCode = code ?? 0
})
