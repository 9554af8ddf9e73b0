// engine: none
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../src/platform/config/load.ts'

const folder = resolve(import.meta.dirname, '../../docs/integrations')
const index = readFileSync(join(folder, 'README.md'), 'utf8')

const base = `app: { url: https://auth.example.com, secret: a-secret-of-the-tests-with-32-bytes, environment: development }
`

for (const file of globSync('*.md', { cwd: folder }).filter((name) => name !== 'README.md')) {
  t.test(`${file} has a client that svc accepts, and says how far it was tried`, async (t) => {
    const page = readFileSync(join(folder, file), 'utf8')
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
    const { config } = parseConfig({ text: base + yaml, file: 'svc.yaml', env: {}, cwd: '/' })
    const [client] = config.clients
    t.ok(client)
    t.match(page, /^# .+\n\n(From (its|the) documentation|Run with )/)
    for (const part of ['**Sign-out**', '**Check**']) t.ok(page.includes(part), part)
    t.match(index, `(${file})`)
    // What the application asks for is what the client may get.
    if (/scopes?\b[^\n]*\bgroups\b/i.test(page.slice(page.indexOf(yaml) + yaml.length)))
      t.ok(client?.scopes.includes('groups'))
  })
}
