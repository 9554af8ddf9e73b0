import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { nearest } from './nearest.ts'
import type { Config } from './schema.ts'

const kinds = ['mail', 'pages'] as const

const builtInFolders = { mail: '../mail/templates', pages: '../../pages/templates' }

/** Returns warnings about files in the operator's directories of templates that svc never reads. */
export const templateWarnings = ({ templates }: Config): string[] =>
  kinds.flatMap((kind) => {
    const directory = templates[kind]
    if (directory === null) return []
    // Mails and pages may share a directory.
    const known = kinds.filter((other) => templates[other] === directory).flatMap(builtIn)
    return filesIn(directory)
      .filter((name) => !known.includes(name) && !/\.(md|json)$/.test(name))
      .map((name) => `templates.${kind}: svc does not use the file ${name} in ${directory}; ${hintFor(name, known)}`)
  })

function hintFor(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? `use the names of the built-in templates, such as ${known[0]}` : `did you mean ${near}?`
}

const builtIn = (kind: (typeof kinds)[number]): string[] => filesIn(join(import.meta.dirname, builtInFolders[kind]))

/** Skips hidden files, which Kubernetes and version control add. A missing directory is an error elsewhere. */
function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith('.'))
      .sort()
  } catch {
    return []
  }
}
