// engine: none
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import t from 'tap'
import { commandHelp, findCommand, parseWords, programHelp } from '../../src/cli/command-line.ts'
import { commands } from '../../src/cli/command-list.ts'
import { refuse } from '../../src/features/admin/command-input.ts'

const parse = (line: string) => {
  const [name = '', ...words] = line.split(' ')
  return parseWords(findCommand(name, commands), words)
}

t.test('explains each error in a command line', async (t) => {
  const cases: [line: string, message: string][] = [
    ['svc:nonsense', 'Unknown command svc:nonsense.\nList the commands: svc --help'],
    ['svc:kesy:list', 'Unknown command svc:kesy:list. Did you mean key:list?\nList the commands: svc --help'],
    ['toString', 'Unknown command toString.\nList the commands: svc --help'],
    ['--verbose', 'Unknown option --verbose.\nList the commands: svc --help'],
    ['user:list --all', 'Unknown option --all.\nShow the options: svc user:list --help'],
    ['svc:user:list -a', 'Unknown option -a.\nShow the options: svc user:list --help'],
    ['user:update --toString', 'Unknown option --toString.\nShow the options: svc user:update --help'],
    ['user:update --__proto__=x', 'Unknown option --__proto__.\nShow the options: svc user:update --help'],
    ['user:list all', 'Unexpected argument all.\nShow the options: svc user:list --help'],
    ['user:create --verified yes', 'Unexpected argument yes.\nShow the options: svc user:create --help'],
    ['guard:test GET', '<url> is missing.\nShow the options: svc guard:test --help'],
    ['config:diff one two', 'Unexpected argument two.\nShow the options: svc config:diff --help'],
    ['user:create --email', '--email requires a value: --email=<address>'],
    ['user:create --email --name=Ada', '--email requires a value: --email=<address>'],
    ['user:create --verified=yes', '--verified does not take a value.'],
    ['keys:rotate --algorithm=none', '--algorithm must be one of RS256, ES256, EdDSA, got "none".'],
    ['keys:rotate --withdraw --now', '--now and --withdraw cannot be combined.'],
    ...['x', '-1', '1.5', '', '1e2', 'Infinity', '0x1', '1000000', '99999999999'].map((hours): [string, string] => [
      `prune-expired --hours=${hours}`,
      `--hours must be an integer from 0 to 999999, got "${hours}".`,
    ]),
  ]
  for (const [line, message] of cases) t.throws(() => parse(line), { message }, line)
})

t.test('shows invalid values as text on a terminal, and as the JSON of the API to programs', async (t) => {
  const errors = { name: ['The name field is required.'], email: ['The email field is required.'] }
  t.throws(() => refuse(errors), {
    message: /^\{"message":"The name field is required\. \(and 1 more error\)","code":"validation_failed"/,
    forPeople: 'The name field is required.\nThe email field is required.',
  })
})

t.test('reads options, arguments and defaults', async (t) => {
  t.strictSame(parse('prune-expired'), { options: { hours: 24 }, arguments: [] })
  t.strictSame(parse('prune-expired --hours 0'), { options: { hours: 0 }, arguments: [] })
  t.match(parse('config:diff --exit-code new.yaml --against old.yaml'), {
    options: { 'exit-code': true, against: 'old.yaml' },
    arguments: ['new.yaml'],
  })
  t.match(parse('user:update --email=a --email=b --role='), { options: { email: 'b', role: '' } })
  t.match(parse('config:diff -- --new.yaml'), { arguments: ['--new.yaml'] })
  t.match(parse('session:revoke -hx_- --reason=ticket'), { options: { reason: 'ticket' }, arguments: ['-hx_-'] })
  t.throws(() => parse('user:list -all'), { message: /^Unexpected argument -all\./ })
  t.throws(() => parse('user:create --email -all'), { message: /^--email requires a value/ })
  t.equal(parse('user:update --role=x -h'), null, 'asks for help')
})

t.test('names every command, argument and option in the help', async (t) => {
  const help = programHelp(commands)
  for (const command of commands) {
    t.match(help, `\n  ${command.name} `)
    const own = commandHelp(command)
    t.match(own, `Usage: svc ${command.name}`)
    for (const name of Object.keys(command.options)) t.match(own, new RegExp(`^  --${name}\\b`, 'm'))
    for (const { name: argument } of command.arguments ?? []) t.match(own, `\n  <${argument}> `)
    for (const line of own.split('\n').slice(4)) t.match(line, /^ {2}\S+.* {2,}[A-Z]\w/, 'has a description')
  }
})

t.test('keeps docs/commands.md equal to the declarations', async (t) => {
  const script = resolve(import.meta.dirname, '../../.dev/commands-reference.mjs')
  t.doesNotThrow(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' }))
})
