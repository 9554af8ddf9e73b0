// engine: none
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

/** Paths of tests in the last column of the tables of a document. */
const testsOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => {
    const [last = ''] = line.split('|').slice(-2)
    return line.startsWith('|') ? [...last.matchAll(/`([\w/.-]+)`/g)].map(([, path = '']) => path) : []
  })

t.test('every threat names a test that exists', async (t) => {
  const text = readFileSync(join(root, 'docs/threat-model.md'), 'utf8')
  const threats = text.split('\n').filter((line) => /^\| [STRIDE] /.test(line))
  t.ok(threats.length > 50, `${threats.length} threats`)
  for (const line of threats) t.not(testsOf(line).length, 0, line)
  for (const path of testsOf(text)) t.ok(existsSync(join(root, 'test', `${path}.test.ts`)), path)
  for (const boundary of text.split(/^### /m).slice(1))
    t.ok(/^\| [STRIDE] /m.test(boundary), `${boundary.split('\n')[0]} has threats`)
})

/** The number of requirements of levels 1 and 2 in each section; those of level 3 come last. */
const sections = {
  ...{ '1.1': 2, '1.2': 9, '1.3': 11, '1.4': 3, '1.5': 2, '2.1': 3, '2.2': 3, '2.3': 4, '2.4': 1 },
  ...{ '3.2': 2, '3.3': 4, '3.4': 6, '3.5': 5, '3.7': 2, '4.1': 3, '4.2': 1, '4.3': 2, '4.4': 4 },
  ...{ '5.1': 1, '5.2': 3, '5.3': 2, '5.4': 3, '6.1': 3, '6.2': 12, '6.3': 4, '6.4': 4, '6.5': 5, '6.6': 3, '6.8': 4 },
  ...{ '7.1': 3, '7.2': 4, '7.3': 2, '7.4': 5, '7.5': 2, '7.6': 2, '8.1': 2, '8.2': 3, '8.3': 1, '8.4': 1 },
  ...{ '9.1': 3, '9.2': 4, '10.1': 2, '10.2': 2, '10.3': 4, '10.4': 11, '10.5': 5, '10.6': 2, '10.7': 3 },
  ...{ '11.1': 2, '11.2': 3, '11.3': 3, '11.4': 4, '11.5': 1, '11.6': 1, '12.1': 3, '12.2': 2, '12.3': 4 },
  ...{ '13.1': 1, '13.2': 5, '13.3': 2, '13.4': 5, '14.1': 2, '14.2': 4, '14.3': 3, '15.1': 3, '15.2': 3, '15.3': 7 },
  ...{ '16.1': 1, '16.2': 5, '16.3': 4, '16.4': 3, '16.5': 3, '17.1': 1, '17.2': 4, '17.3': 2 },
}

const requirements = Object.entries(sections).flatMap(([section, count]) =>
  Array.from({ length: count }, (_, index) => `${section}.${index + 1}`),
)

t.test('the self-assessment has every requirement once, with tests that exist', async (t) => {
  const text = readFileSync(join(root, 'docs/asvs.md'), 'utf8')
  const rows = text.split('\n').filter((line) => /^\| \d/.test(line))
  const listed = [...rows.map((row) => row.split('|')[1] ?? ''), text.split('## V17')[1] ?? ''].flatMap(
    (part) => part.match(/\d+\.\d+\.\d+/g) ?? [],
  )
  t.same(listed.toSorted(), [...requirements].toSorted())
  for (const row of rows) t.match(row.split('|')[2], /^ (met|setting|operator|gap|none) +$/, row)
  for (const path of rows.flatMap(testsOf)) {
    const isThere = existsSync(join(root, 'test', `${path}.test.ts`))
    t.ok(isThere, path)
  }
})
