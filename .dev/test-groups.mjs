// Runs several test files in one process. A process needs seconds to load svc and to build its first app; every further
// file in it starts at once. A file with the line `// process: own` runs alone, because it changes its process.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runsAlone } from './test-files.ts'

/** Maximum number of files in one process. It limits the time of a process, and how many results a crash hides. */
const FILES_PER_PROCESS = 14

/** Files that wait for others most of the time. They run first, beside the busy ones. */
const waiting = /^test\/(generators|process|tools)\//

/** Files that start browsers, servers or compilers. They run next, so that none of them keeps one core busy at the end. */
const slow =
  /^(packages\/client|test\/(cli|faults|guides|helm|journeys|pages|proxies|replicas|scale|security)\/|test\/gallery)/

/**
 * Returns the files to give to tap, which runs them in the order of their paths: written files that import one or several
 * test files. `folder` is emptied first. The groups keep to one folder directly below `test`.
 */
export function groupFiles(files, { root, folder }) {
  rmSync(folder, { recursive: true, force: true })
  const groups = []
  for (const file of files) {
    const last = groups.at(-1)
    if (last && !last.alone && !runsAlone(file) && last.files.length < last.most && last.area === area(file, root))
      last.files.push(file)
    else groups.push(groupOf(file, root))
  }
  return groups.map((group) => written(group, { root, folder }))
}

function groupOf(file, root) {
  const path = relative(root, file)
  const order = waiting.test(path) ? '0' : slow.test(path) ? '1' : '2'
  const most = order === '2' ? FILES_PER_PROCESS : 2
  return { files: [file], alone: runsAlone(file), most, area: area(file, root), order }
}

const area = (file, root) => relative(root, file).split('/').slice(0, 2).join('/')

function written({ files, order }, { root, folder }) {
  const [first, ...others] = files.map((file) => relative(root, file).replace(/\.test\.ts$/, ''))
  const path = join(folder, order, `${first}${others.length > 0 ? ` and ${others.length} more` : ''}.test.mjs`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, files.map((file) => `await import('${pathToFileURL(file)}')\n`).join(''))
  return path
}
