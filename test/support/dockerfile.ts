import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One instruction of a Dockerfile, with continuation lines joined: `RUN`, and its arguments. */
interface Instruction {
  name: string
  text: string
}

/** A stage, which begins at a FROM. */
export interface Stage {
  name: string
  from: string
  instructions: Instruction[]
}

/** Parses the subset of Dockerfile syntax that ours uses; replaces ARG values where Docker does. */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = []
  const values: Record<string, string> = {}
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
  for (const line of lines.filter((line) => line.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? []
    // In these, variables belong to the shell.
    const isLiteral = ['RUN', 'CMD', 'ENTRYPOINT', 'HEALTHCHECK'].includes(name)
    const filled = isLiteral ? rest : rest.replace(/\$\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole)
    if (name === 'ARG') {
      const [key = '', value] = filled.split('=')
      // Without a value, it declares an argument of the first lines.
      values[key] ??= value ?? ''
    }
    if (name === 'FROM') {
      const [from = '', , stage = ''] = filled.split(/\s+/)
      stages.push({ name: stage, from, instructions: [] })
    }
    stages.at(-1)?.instructions.push({ name, text: filled.replace(/\s+/g, ' ') })
  }
  return stages
}

/** The arguments of a stage's instructions with one name. */
export const instructionsOf = (stage: Stage, name: string): string[] =>
  stage.instructions.filter((instruction) => instruction.name === name).map(({ text }) => text)

/** The pairs of ENV and LABEL. */
export const pairsOf = (stage: Stage, name: 'ENV' | 'LABEL'): Record<string, string> =>
  Object.fromEntries(
    instructionsOf(stage, name).flatMap((text) =>
      [...text.matchAll(/([\w.]+)="([^"]*)"/g)].map(([, key, value]) => [key ?? '', value ?? '']),
    ),
  )

/** The command of an exec form, as in `CMD ["node", "main.js"]`. */
export const commandOf = (text = '[]'): string[] => JSON.parse(text.slice(text.indexOf('[')))

/** The files under a directory that its .dockerignore includes in a build, by relative path. */
export function buildContext(root: string): string[] {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ takes: line.startsWith('!'), path: line.replace(/^!/, '') }))
  // The last matching rule decides, also for nested paths.
  const isTaken = (file: string) =>
    rules.findLast(({ path }) => path === '*' || file === path || file.startsWith(`${path}/`))?.takes ?? true
  const isReachable = (folder: string) => isTaken(folder) || rules.some(({ path }) => path.startsWith(`${folder}/`))
  const filesIn = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return isReachable(path) ? filesIn(path) : []
      return isTaken(path) ? [path] : []
    })
  return filesIn('')
}
