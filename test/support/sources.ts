import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** The TypeScript files of a folder of the repository. */
export const typescript = (folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .map((file) => file.split(sep).join('/'))
        .filter(
          (file) =>
            /\.(ts|mjs)$/.test(file) && !file.startsWith('platform/generated/') && !file.includes('node_modules/'),
        )
        .sort()
    : []

export const read = (folder: string, file: string): string => readFileSync(join(root, folder, file), 'utf8')

/** The code without comments. */
export const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')

/** Everything that a file imports, including types. */
export const importsOf = (text: string): string[] =>
  [...code(text).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')

/** All files of `src`. */
export const sources = typescript('src').map((file) => ({ file, text: read('src', file) }))

/** The files of `src` that a file imports. */
export const innerImports = ({ file, text }: { file: string; text: string }): string[] =>
  importsOf(text)
    .filter((name) => name.startsWith('.'))
    .map((name) =>
      relative(join(root, 'src'), resolve(root, 'src', dirname(file), name))
        .split(sep)
        .join('/'),
    )
