// engine: none
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/platform/config/load.ts'
import { breachedIndexProblem, isBreached } from '../../../src/platform/crypto/breached-passwords.ts'
import { runTerminalCommand } from '../../support/command.ts'
import { temporaryDirectory } from '../../support/process.ts'

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

/** Indexes a list of hashes, with counts as in published lists. */
async function indexOf(directory: string, passwords: readonly string[], name = 'index') {
  const [list, index] = [join(directory, 'list.txt'), join(directory, name)]
  writeFileSync(
    list,
    passwords
      .map((password, at) => `${sha1(password)}:${at + 1}\r\n`)
      .sort()
      .join(''),
  )
  return { index, printed: await runTerminalCommand('passwords:index', list, index) }
}

const some = (count: number, name = 'leaked') => Array.from({ length: count }, (_, index) => `${name} ${index}`)

for (const count of [0, 1, 2, 511, 512, 513, 5_000, 100_000]) {
  t.test(`finds each of ${count} passwords, and no other`, async (t) => {
    const { index, printed } = await indexOf(temporaryDirectory(t), some(count))
    t.same(printed, [`Indexed ${count} passwords in ${index}.`])
    t.same(some(count).filter((password) => !isBreached(index, password)).length, 0)
    t.same(
      some(2_000, 'other').filter((password) => isBreached(index, password)),
      [],
    )
  })
}

t.test('finds entries that are not spread evenly', async (t) => {
  const directory = temporaryDirectory(t)
  const [list, index] = [join(directory, 'list.txt'), join(directory, 'index')]
  const crowd = Array.from({ length: 5_000 }, (_, at) => `ABCDEF${at.toString(16).toUpperCase().padStart(8, '0')}`)
  const hashes = [...crowd.map((start) => start.padEnd(40, '0')), sha1('leaked'), 'F'.repeat(40), '0'.repeat(40)].sort()
  writeFileSync(list, hashes.join('\n'))
  await runTerminalCommand('passwords:index', list, index)
  t.ok(isBreached(index, 'leaked'))
  t.notOk(isBreached(index, 'another'))
  t.equal(statSync(index).size % 8, Buffer.from('svc breached passwords 1\n').length % 8)
})

t.test('indexes a list of passwords in any order, and each once', async (t) => {
  const directory = temporaryDirectory(t)
  const [list, index] = [join(directory, 'list.txt'), join(directory, 'index')]
  // The second and the third differ in their Unicode composition.
  writeFileSync(list, 'zebra crossing\nadmire caf\u00e9\nadmire cafe\u0301\n\n acme2026\nzebra crossing')
  t.match(await runTerminalCommand('passwords:index', '--passwords', list, index), ['Indexed 3 passwords'])
  for (const password of ['zebra crossing', 'admire caf\u00e9', ' acme2026'])
    t.ok(isBreached(index, password), password)
  for (const password of ['acme2026', 'Zebra crossing', '']) t.notOk(isBreached(index, password), password)
})

t.test('reports lists that it cannot index, and keeps the earlier index', async (t) => {
  const directory = temporaryDirectory(t)
  const { index } = await indexOf(directory, ['leaked'])
  const list = join(directory, 'bad.txt')
  const cases: [content: string, message: RegExp][] = [
    [`${sha1('a')}\nnothing`, /^Line 2 is no SHA-1 hash in hexadecimal\. Use --passwords/],
    [`${'F'.repeat(40)}\n\n${'0'.repeat(40)}`, /^Line 3 is not in order\. Sort the file first: LC_ALL=C sort$/],
    ['A'.repeat(39), /^Line 1 /],
    ['A'.repeat(32), /^Line 1 /],
    [`${'A'.repeat(40)}:x`, /^Line 1 /],
    [`\0${randomBytes(300).toString('latin1')}`, /^Line 1 /],
  ]
  for (const [content, message] of cases) {
    writeFileSync(list, content)
    await t.rejects(runTerminalCommand('passwords:index', list, index), { message })
  }
  await t.rejects(runTerminalCommand('passwords:index', join(directory, 'no'), index), /cannot be read: no such file/)
  await t.rejects(runTerminalCommand('passwords:index', directory, index), /cannot be read: it is a directory/)
  await t.rejects(
    runTerminalCommand('passwords:index', list, join(directory, 'no/x')),
    /cannot be written: no such file/,
  )
  t.ok(isBreached(index, 'leaked'))
  t.notOk(existsSync(`${index}.part`))
})

t.test('uses a new index at once, and the last one while the file is missing or incomplete', async (t) => {
  const directory = temporaryDirectory(t)
  const { index } = await indexOf(directory, ['first'])
  const { index: other } = await indexOf(directory, ['second', 'third'], 'other')
  t.equal(breachedIndexProblem(index), null)
  t.same([isBreached(index, 'first'), isBreached(index, 'second')], [true, false])
  const whole = readFileSync(other)
  rmSync(index)
  t.ok(isBreached(index, 'first'), 'missing')
  writeFileSync(index, 'half')
  t.ok(isBreached(index, 'first'), 'incomplete')
  writeFileSync(other, whole)
  renameSync(other, index)
  t.same([isBreached(index, 'first'), isBreached(index, 'second')], [false, true])
})

const problemOf = (t: Test, file: string) => {
  const path = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(path, `passwords: { breached: { file: ${JSON.stringify(file)} } }`)
  try {
    loadConfig({ file: path })
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

t.test('rejects a configuration whose index svc cannot read', async (t) => {
  const directory = temporaryDirectory(t)
  const { index } = await indexOf(directory, ['leaked'])
  t.equal(problemOf(t, index), null)
  t.match(problemOf(t, join(directory, 'list.txt')), /passwords\.breached\.file.*"svc passwords:index" wrote/)
  t.match(problemOf(t, join(directory, 'missing')), /passwords\.breached\.file.*readable file/)
  t.match(problemOf(t, directory), /passwords\.breached\.file/)
})
