// npm run simulate:faults [-- <part of a name>]: plants faults in a copy of this checkout, one at a time, and tells which seed finds
// each.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

interface Fault {
  name: string
  file: string
  from: string
  to: string
}

const faults: readonly Fault[] = [
  {
    name: 'disabling a user leaves the sessions alone, which work again when the user is enabled',
    file: 'src/auth/accounts.ts',
    from: 'await endSessionsOf(app, tx, userId)',
    to: '',
  },
  {
    name: 'disabling a user leaves the API tokens alone',
    file: 'src/auth/accounts.ts',
    from: 'await deleteTokens(tx, userId)',
    to: '',
  },
  {
    name: 'a link for a new password works twice',
    file: 'src/features/password-reset/reset.ts',
    from: 'if (!(await takeReset(tx, user,',
    to: 'if (!(await hasReset(tx, user,',
  },
  {
    name: 'an administrator who ends the sessions of a user leaves the remembered browsers alone',
    file: 'src/auth/sign-in/end-sessions.ts',
    from: 'await tx.rememberToken.deleteMany({\n    where: { ...owner, ...(row?.rememberTokenId',
    to: 'await tx.rememberToken.count({\n    where: { ...owner, ...(row?.rememberTokenId',
  },
  {
    name: 'a failed sign-in does not count while its password is checked, nor later',
    file: 'src/auth/sign-in/login-limiter.ts',
    from: 'if (block) return refuse(block)',
    to: 'if (block) return refuse(block)\n    await takeBack(this.#counters, undone)',
  },
  {
    name: 'a user unlinks the last account, and has no way in',
    file: 'src/features/social/unlink.ts',
    from: 'if (!(await hasWayIn(app, tx, user.id)))',
    to: 'if (!(await hasWayIn(app, tx, user.id)) && id === 0n)',
  },
  {
    name: 'a user who leaves a group keeps it in what the guard reads',
    file: 'src/identity/groups.ts',
    from: 'await refreshGroups(tx, origin, userId, before)\n  return before.filter',
    to: 'return before.filter',
  },
  {
    name: 'a reload does not change the rules of the guard',
    file: 'src/features/forward-auth/rules.ts',
    from: 'let found = compiled.get(rules)',
    to: 'let found = Reflect.get(compiled, "first")\n  queueMicrotask(() => Reflect.set(compiled, "first", found))',
  },
  {
    name: 'a mail that the server did not take is not sent again',
    file: 'src/platform/mail/mail.ts',
    from: 'else if (!signal.aborted) this.#server.failed(error)\n      throw error',
    to: 'return',
  },
]

const root = resolve(import.meta.dirname, '../..')
const [only = ''] = process.argv.slice(2)
let missed = 0
for (const { name, file, from, to } of faults.filter((fault) => fault.name.includes(only))) {
  const copy = join(tmpdir(), `svc-fault-${process.pid}`)
  for (const part of ['src', 'test', 'prisma', 'config', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const text = readFileSync(join(copy, file), 'utf8')
  if (!text.includes(from)) throw new Error(`${file} has changed. Plant this fault anew: ${name}`)
  writeFileSync(join(copy, file), text.replace(from, to))
  const found = firstViolation(copy)
  if (found === null) missed++
  process.stdout.write(`${found ? 'found ' : 'MISSED'}  ${name}${found ? `\n        ${found}` : ''}\n`)
  rmSync(copy, { recursive: true })
}
process.exitCode = missed > 0 ? 1 : 0

/** Runs seeds until one fails. */
function firstViolation(cwd: string): string | null {
  for (let seed = 1; seed <= 40; seed += 10) {
    try {
      const args = ['test/simulate/run.ts', `--seed=${seed}`, '--seeds=10', '--steps=1000', '--stop']
      execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: 'pipe' })
    } catch (error) {
      const output = String(Object(error).stdout)
      return output
        .split('\n')
        .filter((line) => /^step|[1-9]\d* violations/.test(line))
        .join(' — ')
    }
  }
  return null
}
