// engine: none
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { problemsOf } from './problems.ts'

const parse = (text: string, cwd = '/srv') => parseConfig({ text, file: 'svc.yaml', env: {}, cwd })

function directoryOf(t: Test, files: Record<string, string>): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-texts-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return path
}

t.test('merges the texts of the directory, of theme.texts and of i18n.messages', async (t) => {
  const directory = directoryOf(t, {
    'de.json': '{ "login.title": "file", "login.or": "file", "login.email": "file" }',
    'fr.json': '{ "login.title": "fichier" }',
    'README.md': 'ignored',
  })
  const { config, warnings } = parse(`
theme: { texts: { login.title: theme, login.or: theme } }
i18n: { default: de, directory: ${directory}, messages: { de: { login.title: messages } } }
`)
  t.same(warnings, [])
  t.match(config.i18n.messages, {
    de: { 'login.title': 'messages', 'login.or': 'theme', 'login.email': 'file' },
    fr: { 'login.title': 'fichier' },
  })
})

t.test('warns about texts that do not exist', async (t) => {
  const directory = directoryOf(t, { 'de.json': '{ "login.tilte": "x" }' })
  const { warnings } = parse(`
theme: { texts: { lang: de, mail.reset.subject: x } }
i18n: { directory: ${directory}, messages: { fr: { home.nothing: x } } }
`)
  t.match(warnings, [
    'theme.texts contains the unknown text lang; set i18n.default',
    'theme.texts contains the unknown text mail.reset.subject',
    'i18n.messages.fr contains the unknown text home.nothing',
    /de\.json contains the unknown text login\.tilte$/,
  ])
})

t.test('rejects invalid files with their names', async (t) => {
  for (const [text, message] of [
    ['{', /de\.json cannot be read \(.*JSON/],
    ['[]', /de\.json must be a JSON object/],
    ['{ "login.title": 5 }', /de\.json must be a JSON object of texts by name/],
    ['{ "login.title": "{" }', /login\.title in .*de\.json must be a valid text in ICU MessageFormat/],
    ['{ "login.title": "{user}" }', /login\.title in .*de\.json must not contain \{user\}/],
  ] as const) {
    const directory = directoryOf(t, { 'de.json': text })
    t.match(problemsOf(`i18n: { directory: ${directory} }`), [{ key: 'i18n.directory', message }], text)
  }
})
