// engine: none
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryDirectory } from '../support/process.ts'

const { completeBill } = await import(String(new URL('../../.dev/bill-of-materials.mjs', import.meta.url)))

const part = (name: string, url: string) => ({
  name,
  version: '1.0.0',
  type: 'library',
  externalReferences: [{ type: 'vcs', url }],
})

t.test('is the same for two builds, and valid where npm is not', async (t) => {
  const modules = temporaryDirectory(t)
  for (const [place, manifest] of Object.entries({
    outer: { name: 'outer', version: '1.0.0' },
    'outer/vendor/inner': { name: '@scope/inner', version: '2.0.0', license: '(MIT OR Apache-2.0)' },
    'outer/esm': { type: 'module' },
  })) {
    mkdirSync(join(modules, place), { recursive: true })
    writeFileSync(join(modules, place, 'package.json'), JSON.stringify(manifest))
  }
  const bill = (timestamp: string) => ({
    serialNumber: 'urn:uuid:***',
    metadata: { timestamp, component: { name: 'image' } },
    components: [
      part('outer', 'git@github.com:owner/outer.git'),
      part('other', 'git+https://github.com/owner/other.git'),
      part('local', 'not a url'),
    ],
  })
  const made = completeBill(bill('2026-01-01T00:00:00Z'), { name: 'svc', modules })
  t.strictSame(made, completeBill(bill('2027-01-01T00:00:00Z'), { name: 'svc', modules }))
  t.match(made.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
  const urls = made.components.flatMap(({ externalReferences = [] }: Partial<ReturnType<typeof part>>) =>
    externalReferences.map(({ url }) => url),
  )
  t.strictSame(urls, ['https://github.com/owner/outer.git', 'https://github.com/owner/other.git'])
  t.match(made.components.at(-1), {
    name: '@scope/inner',
    version: '2.0.0',
    purl: 'pkg:npm/%40scope/inner@2.0.0',
    licenses: [{ expression: '(MIT OR Apache-2.0)' }],
  })
  t.equal(made.components.length, 4)
})
