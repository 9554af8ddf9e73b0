import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { CommandError, type Terminal } from '../../contract/command.ts'
import { parseConfig } from '../../platform/config/load.ts'
import { checkServices, lineOf } from '../doctor/doctor.ts'
import { type Answers, answersOf, deployments, type Given, proxies, questions } from './answers.ts'
import { nextSteps } from './next-steps.ts'
import { type Place, type PlannedFile, plannedFiles, secretsFolder } from './plan.ts'
import { type Outcome, write } from './write.ts'

/** Values of the options. */
export type Options = Partial<Given> & { directory?: string; yes?: true }

/** Asks what is not known, writes the files, checks them, and prints how to go on. */
export async function init(terminal: Terminal, options: Options): Promise<void> {
  const { print } = terminal
  const place = placeOf(options.directory)
  const answers = answersOf(await allAnswers(terminal, options))
  const files = plannedFiles(answers, place)
  // Finds mistakes before anything is written.
  configurationIn(answers, place, (path) => files.find((file) => file.path === path)?.text ?? '')
  const outcomes = await writeAll(terminal, files, answers, place, options.yes)
  const loaded = configurationIn(answers, place, (path) => readFileSync(join(place.directory, path), 'utf8'))
  for (const warning of loaded.warnings) print(`warning  ${warning}`)
  const checks = await checkServices(loaded.config, {
    isHere: answers.deploy === 'none' || answers.deploy === 'systemd',
  })
  for (const check of checks) print(lineOf(check))
  const isHealthy = checks.every(({ status }) => status !== 'error')
  if (!isHealthy) process.exitCode = 1
  // An existing database may belong to a running server.
  const { file } = loaded.config.database
  const isNew = outcomes.get('svc.yaml') === 'wrote' && file !== null && !existsSync(file)
  const link = isHealthy && isNew ? invitationLink(answers, place) : null
  print('')
  print('Next:')
  for (const step of nextSteps(answers, place, link)) print(`  ${step}`)
}

function placeOf(directory = '.'): Place {
  const absolute = resolve(directory)
  const user = process.getuid?.() || 1000
  const group = process.getuid?.() ? process.getgid?.() : 1000
  return {
    directory: absolute,
    root: resolve(import.meta.dirname, '../../..'),
    owner: `${user}:${group}`,
    known: (name) => {
      const file = join(absolute, 'secrets', name)
      return existsSync(file) ? readFileSync(file, 'utf8').trim() || null : null
    },
  }
}

/** Returns every answer: an option, what the person types, or with `--yes` the default. */
async function allAnswers({ ask }: Terminal, options: Options): Promise<Given> {
  const given: Partial<Given> = {
    ...(options.proxy && { proxy: options.proxy }),
    deploy: options.deploy ?? (await choice(ask, options, 'How will svc run? none means npm start:', deployments)),
  }
  for (const { name, text, fallback, problem } of questions) {
    const option = options[name]?.trim()
    const wrong = option !== undefined ? problem(option, given) : null
    // These can hold passwords.
    const got = name === 'database' || name === 'mail' ? '' : `, got "${option}"`
    if (wrong) throw new CommandError(`--${name} ${wrong}${got}.`)
    given[name] = option ?? (await typed(ask, { name, text, fallback, problem }, given, options))
  }
  const needsProxy = given.deploy !== 'helm' && given.url?.startsWith('https:')
  const proxy =
    options.proxy ??
    (needsProxy ? await choice(ask, options, 'Which reverse proxy is in front of svc?', proxies) : 'none')
  return { ...given, proxy } as Given
}

const withoutTerminal = (name: string): CommandError =>
  new CommandError(`--${name} is missing. Without a terminal, pass every option, or --yes for the defaults.`)

async function typed(
  ask: Terminal['ask'],
  { name, text, fallback, problem }: (typeof questions)[number],
  given: Partial<Given>,
  { yes }: Options,
): Promise<string> {
  const wrongDefault = problem(fallback, given)
  if (yes && wrongDefault)
    throw new CommandError(`--${name} is missing. It has no default here, because it ${wrongDefault}.`)
  if (yes) return fallback
  for (;;) {
    const answer = await ask(`${text}${wrongDefault ? '' : ` [${fallback}]`}: `)
    if (answer === null) throw withoutTerminal(name)
    const value = answer.trim() || fallback
    const wrong = problem(value, given)
    if (!wrong) return value
    process.stderr.write(`The answer ${wrong}.\n`)
  }
}

async function choice<Name extends string>(
  ask: Terminal['ask'],
  { yes }: Options,
  text: string,
  names: readonly Name[],
): Promise<Name> {
  if (yes) return 'none' as Name
  for (;;) {
    const answer = await ask(`${text} ${names.join(', ')} [none]: `)
    if (answer === null) return 'none' as Name
    const name = names.find((each) => each === (answer.trim().toLowerCase() || 'none'))
    if (name) return name
    process.stderr.write(`The answer must be one of ${names.join(', ')}.\n`)
  }
}

async function writeAll(
  { print, ask }: Terminal,
  files: readonly PlannedFile[],
  answers: Answers,
  place: Place,
  yes?: true,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const isRoot = process.getuid?.() === 0
  const owner = isRoot && answers.deploy === 'compose' ? ([1000, 1000] as const) : null
  const mayReplace = async (path: string) => {
    if (yes) return false
    const answer = await ask(`${path} exists with other content. Replace it? [y/N]: `)
    return /^y(es)?$/i.test(answer?.trim() ?? '')
  }
  for (const file of files) {
    const outcome = await write(place.directory, file, { mayReplace, owner })
    outcomes.set(file.path, outcome)
    const note = outcome === 'kept' ? ': has other content' : ''
    print(`${outcome.padEnd(9)} ${relative(process.cwd(), join(place.directory, file.path))}${note}`)
  }
  return outcomes
}

/** Parses the configuration as svc will. `readOwn` reads a file of the directory. */
function configurationIn(answers: Answers, place: Place, readOwn: (path: string) => string) {
  const isHelm = answers.deploy === 'helm'
  const name = isHelm ? 'values.yaml' : 'svc.yaml'
  const text = isHelm ? stringify(parse(readOwn(name))?.config ?? {}) : readOwn(name)
  const folder = `${secretsFolder(answers, place)}/`
  const absolute = resolve(folder)
  const read = (path: string) => {
    const isOwn = path.startsWith(folder) || dirname(path) === absolute
    return isOwn ? readOwn(`secrets/${basename(path)}`) : readFileSync(path, 'utf8')
  }
  const file = relative(process.cwd(), join(place.directory, name))
  return parseConfig({ text, file, env: {}, cwd: process.cwd(), read })
}

/** Invites the administrator and returns the link; null if this machine has no database of the new configuration. */
function invitationLink({ admin, deploy }: Answers, { directory }: Place): string | null {
  // Variables would lead the command to another database.
  if (!admin || deploy !== 'none' || process.env.DATABASE_URL || process.env.SVC_SECRET) return null
  const words = ['user:invite', `--email=${admin}`, '--role=admin', '--link']
  const env = { ...process.env, SVC_CONFIG: join(directory, 'svc.yaml') }
  const program = [...process.execArgv, process.argv[1] ?? '']
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, ...words], { env, encoding: 'utf8' })
  if (status === 0) return (JSON.parse(stdout) as { link: string }).link
  process.stderr.write(`The administrator was not invited: ${stderr}`)
  return null
}
