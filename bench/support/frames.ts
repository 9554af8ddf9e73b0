import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A function in a profile of V8. */
export interface CallFrame {
  functionName: string
  url: string
  lineNumber: number
  columnNumber: number
}

interface Place {
  /** A path, or the name of a module of Node. */
  file: string
  line: number
}

const root = resolve(import.meta.dirname, '../..')
const maps = new Map<string, SourceMap | null>()

/** Returns the package of a function, or the part of Node that it belongs to. */
export function packageOf(frame: CallFrame): string {
  if (frame.functionName === '(garbage collector)') return 'garbage collection'
  const { file } = placeOf(frame)
  if (file.startsWith('node:')) return file.split('/')[0] ?? file
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(file)
  if (found?.[1]) return found[1]
  return file === '' ? 'native code' : 'svc'
}

/** Returns a function's name and place: from `src/` or `bench/` for svc, and from the package's name for others. */
export function nameOf(frame: CallFrame): string {
  const { file, line } = placeOf(frame)
  const short = file.replace(/^.*node_modules\//, '').replace(`${root}/`, '')
  return `${frame.functionName || '(anonymous)'} ${short && `${short}:${line}`}`
}

/** Returns the place in the source of a function of the bundled program. */
function placeOf({ url, lineNumber, columnNumber }: CallFrame): Place {
  if (!url.startsWith('file:')) return { file: url, line: lineNumber + 1 }
  const file = fileURLToPath(url)
  const entry = sourceMap(`${file}.map`)?.findEntry(lineNumber, columnNumber)
  if (!entry || !('originalSource' in entry)) return { file, line: lineNumber + 1 }
  return { file: resolve(file, '..', entry.originalSource), line: entry.originalLine + 1 }
}

function sourceMap(file: string): SourceMap | null {
  let found = maps.get(file)
  if (found === undefined) {
    found = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
    maps.set(file, found)
  }
  return found
}
