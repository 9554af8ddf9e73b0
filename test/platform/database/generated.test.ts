// engine: none
// lane: all
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../../..')

function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(files.map((file) => [file.slice(folder.length), readFileSync(file, 'utf8')]))
}

t.test('matches the committed database clients with the output of `npm run generate`', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-generate-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'prisma/generate.ts'), folder], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  for (const engine of ['postgresql', 'sqlite']) {
    const [committed, written] = [root, folder].map((place) => filesIn(join(place, 'src/platform/generated', engine)))
    t.ok(Object.keys(committed ?? {}).length > 3)
    t.strictSame(Object.keys(committed ?? {}).sort(), Object.keys(written ?? {}).sort())
    const stale = Object.entries(written ?? {}).filter(([file, text]) => committed?.[file] !== text)
    t.strictSame(
      stale.map(([file]) => `${engine}${file}`),
      [],
      'run `npm run generate`',
    )
  }
})
