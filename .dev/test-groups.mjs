// Runs several test files in one process. A process needs seconds to load svc and to build its first app; every further
// file in it starts at once. A file with the line `// process: own` runs alone, because it changes its process.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Limits the time that one process takes, and what a crash hides. */
const FILES_PER_PROCESS = 8

/**
 * Returns the files to give to tap: test files that run alone, and written files that import several of them. `folder`
 * is emptied first. The groups keep to one folder directly below `test`.
 */
export function groupFiles(files, { root, folder }) {
  rmSync(folder, { recursive: true, force: true })
  const alone = files.filter(runsAlone)
  const groups = []
  for (const file of files.filter((candidate) => !runsAlone(candidate))) {
    const last = groups.at(-1)
    const fits = last && last.length < FILES_PER_PROCESS && area(last[0], root) === area(file, root)
    if (fits) last.push(file)
    else groups.push([file])
  }
  return [...groups.map((group) => (group.length === 1 ? group[0] : written(group, { root, folder }))), ...alone]
}

const runsAlone = (file) => /^\/\/ process: own$/m.test(readFileSync(file, 'utf8').slice(0, 500))

const area = (file, root) => relative(root, file).split('/').slice(0, 2).join('/')

function written(group, { root, folder }) {
  const names = group.map((file) => relative(root, file).replace(/\.test\.ts$/, ''))
  const path = join(folder, `${names[0]} and ${names.length - 1} more.test.mjs`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, group.map((file) => `await import('${pathToFileURL(file)}')\n`).join(''))
  return path
}
