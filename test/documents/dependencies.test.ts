// engine: none
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))

const accepted = /^(MIT|MIT-0|ISC|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|0BSD|Unlicense)$/

/** Other licences that docs/dependencies.md explains. */
const explained: Record<string, string> = {
  '@fortawesome/free-brands-svg-icons': '(CC-BY-4.0 AND MIT)',
  mariadb: 'LGPL-2.1-or-later',
}

interface Locked {
  dev?: boolean
  devOptional?: boolean
  link?: boolean
  license?: string
}

t.test('explains every package of the server, and pins all', async (t) => {
  const { dependencies, optionalDependencies, devDependencies } = read('package.json')
  const text = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  t.same(listed.sort(), Object.keys({ ...dependencies, ...optionalDependencies }).sort())
  for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies }))
    t.match(version, /^\d+\.\d+\.\d+(-[\w.-]+)?$/, `${name} is pinned`)
})

t.test('installs only packages with an accepted licence', async (t) => {
  const { packages }: { packages: Record<string, Locked> } = read('package-lock.json')
  const installed = Object.entries(packages).filter(
    ([place, { dev, devOptional, link }]) => place.startsWith('node_modules/') && !dev && !devOptional && !link,
  )
  t.ok(installed.length > 200)
  for (const [place, { license = '' }] of installed) {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    if (!accepted.test(license)) t.equal(license, explained[name], name)
  }
})
