// engine: none
// lane: all
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort, startMain, temporaryDirectory } from '../support/process.ts'

const root = resolve(import.meta.dirname, '../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The code blocks of a section, by language. */
function blocks(heading: string, language: string): string[] {
  const [, section = ''] = readme.split(`\n## ${heading}\n`)
  const [text = ''] = section.split('\n## ')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)
}

const run = promisify(execFile)

t.test('signs in with a session, an API token and an OAuth client by the shell commands of the README', async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const [yaml = ''] = blocks('Connect an OAuth client', 'yaml')
  writeFileSync(join(cwd, 'svc.yaml'), `${yaml}app: { url: "http://localhost:${port}" }\n`)
  const svc = await startMain(t, { cwd, env: { PORT: String(port), SVC_CONFIG: 'svc.yaml' } })
  const shell = async (script: string) => {
    const command = script
      .replace(/^npm start .*\n/m, '')
      .replaceAll('npm run --silent svc --', `"${process.execPath}" "${join(root, 'src/cli.ts')}"`)
      .replaceAll('http://localhost:8000', svc.url)
    const env = { PATH: process.env.PATH, ...svc.env }
    return (await run('bash', ['-euo', 'pipefail', '-c', command], { cwd, env })).stdout
  }

  const [create = ''] = blocks('Start', 'sh')
  t.match(await shell(create), '"email":"ada@example.com"')
  const [session = ''] = blocks('Sign in a single-page app', 'sh')
  t.match(await shell(session), /"two_factor":false.*"email":"ada@example\.com".*"email":"ada@example\.com"/s)
  const [token = ''] = blocks('Sign in a mobile app', 'sh')
  t.match(await shell(token), /"email":"ada@example\.com".*Logged out/s)
  const [client = ''] = blocks('Connect an OAuth client', 'sh')
  t.match(await shell(client), /"keys":\[.*"active":true/s)
})
