// engine: none
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import t from 'tap'
import { root } from '../support/sources.ts'

/** A slice, the words by which other files refer to it, and how many files outside it may do so. */
interface Slice {
  /** Default: the name of the folder. */
  words?: RegExp
  max: number
}

/** The rule: fewer than eight files. A slice above it keeps its number, so that it does not grow. */
const maxFiles = 7

const slices: Readonly<Record<string, Slice>> = {
  // The role of administrators belongs to `auth` and `identity`. This counts references to their API and commands.
  admin: { words: /features\/admin|api\/admin|admin api/i, max: maxFiles },
  account: { words: /features\/account\//, max: maxFiles },
  activity: { words: /features\/activity/, max: maxFiles },
  'active-sessions': { max: maxFiles },
  'api-description': { words: /features\/api-description|openapi\.json/, max: maxFiles },
  'security-txt': { words: /security-txt|security_contact/, max: maxFiles },
  'audit-seal': { words: /audit-seal|event_?-?(seal|key|head)|audit-head/i, max: maxFiles },
  'app-links': { words: /features\/app-links|mobile[-_]apps/i, max: maxFiles },
  // Its cookie is checked wherever sessions and remembered browsers are read.
  'bound-sessions': { words: /bound-sessions|boundSessions|sessionBinding/, max: 9 },
  // Templates load scripts from it.
  assets: { words: /features\/assets|\/assets\//, max: 10 },
  'decision-hooks': { words: /decision-hooks|\bhooks\.before|config\/sections\/hooks/, max: maxFiles },
  'decision-log': { words: /decision-log|decisionLog|audit\.decisions/, max: maxFiles },
  diagnose: { words: /features\/diagnose|svc\/diagnose|'diagnose'|\bdiagnose: \{/, max: maxFiles },
  // SCIM changes addresses too, and signals tell other services of an undone change.
  'email-change': { max: 16 },
  'email-code': { words: /features\/email-code|'email-code[.'-]/, max: maxFiles },
  'email-verification': { max: maxFiles },
  'error-reference': { max: maxFiles },
  'event-export': { words: /event[-_ ]?export/i, max: maxFiles },
  'forward-auth': { max: maxFiles },
  health: { words: /features\/health|\/health\//, max: maxFiles },
  home: { words: /features\/home|'home'|\bhome: \{|text\('home\./, max: maxFiles },
  invitations: { words: /features\/invitations/, max: maxFiles },
  language: { words: /features\/language/, max: maxFiles },
  // Two of them name the cookie of `ui_locales` and the path of the language switch, and the
  // admin API and its rules have personal access tokens, clients and keys. `secret:check` counts its rows.
  // The configuration that `svc init` writes names its documentation.
  oauth: { words: /oauth|oidc|openid/i, max: 72 },
  // The list of the account pages and settings of apps name it too. It has three templates, with their data.
  // Administrators see them. The import from Laravel lists them. Signals to other services name their events.
  passkeys: { words: /passkey|webauthn/i, max: 17 },
  'password-confirmation': { words: /password-confirmation|confirm-password/, max: maxFiles },
  // Administrators make reset links too.
  'password-reset': { words: /password[-_. ]?reset|reset[-_. ]?password/i, max: 15 },
  profile: { words: /features\/profile|profile_updated|user\/profile/, max: maxFiles },
  reference: { words: /features\/reference/, max: maxFiles },
  registration: { words: /features\/registration|registration\.enabled|registration: section/, max: maxFiles },
  samples: { words: /\bsamples?\b/i, max: maxFiles },
  'shared-signals': { words: /shared[-_]signals|signalsScope|svc:signals/, max: 9 },
  'sign-in-page': { words: /sign-?in-?page/i, max: 15 },
  // Its scope is reserved wherever that of the admin API is.
  scim: { words: /\bscim/i, max: 9 },
  social: {
    words: /social|identity provider|sign-in provider|provider sign-in|provider_(failed|error)|data\.provider|'fed'/i,
    // Administrators find users by their provider, and see their links. The import from Laravel lists them. The groups
    // and the fields that a provider gives are checked with the others. A plan says which provider changes.
    max: 12,
  },
  session: { words: /features\/session\//, max: maxFiles },
  terms: { words: /features\/terms|accepted-terms|terms_not_accepted|termsPage/, max: 16 },
  'test-page': { words: /test[-_]page/i, max: maxFiles },
  tokens: { words: /features\/tokens|api\/tokens|tokens: section|\btokens\.(prune|expir)/, max: maxFiles },
  // Five templates of its account pages, and their data. Webhooks have the user's setting. Three files import it from Laravel.
  // The catalogue of errors has its code. `secret:check` counts its rows. Decision hooks receive the user's setting.
  'two-factor': { words: /two[-_]?factor/i, max: 47 },
  // Every origin of an event names the queue of webhooks. Decision hooks sign their messages in the same way.
  // Administrators see its queue.
  webhooks: { words: /webhook/i, max: 21 },
  // Administrators unlock accounts too.
  unlock: { words: /unlock/i, max: 18 },
}

/** Lists of all features that stay in one place, with the texts of their entries. */
const centralLists = new Set([
  'app/feature-list.ts',
  'platform/event-types.ts',
  'identity/notices.ts',
  'pages/icons.ts',
  'platform/mail/templates/security-notice.html.eta',
  'platform/mail/templates/security-notice.txt.eta',
])

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.split(sep).join('/'))
  .filter((file) => /\.(ts|js|eta|css)$/.test(file) && !file.startsWith('platform/generated/'))
  .map((file) => ({ file, text: readFileSync(join(root, 'src', file), 'utf8') }))

/** Files that removing a slice changes, besides its folder and its section of the configuration. */
function filesToChange(slice: string): string[] {
  const words = slices[slice]?.words ?? new RegExp(slice.replaceAll('-', '[-_ ]?'), 'i')
  return (
    files
      .filter(({ file }) => !file.startsWith(`features/${slice}/`) && file !== `platform/config/sections/${slice}.ts`)
      .filter(({ text }) => words.test(text))
      // The imports, the plan and the administration each count once, because they could be removed as a whole.
      .map(({ file }) => file.replace(/^tools\/maintenance\/(laravel|users-file)\/.*/, 'imports'))
      .map((file) => file.replace(/^(cli\/plan|features\/admin)\/.*/, '$1'))
      .filter((file, index, all) => all.indexOf(file) === index)
  )
}

t.test('limits how many files outside a slice refer to it', async (t) => {
  const folders = readdirSync(join(root, 'src/features'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  t.same(folders.map(({ name }) => name).sort(), Object.keys(slices).sort(), 'every slice has a maximum')
  for (const [slice, { max }] of Object.entries(slices)) {
    const all = filesToChange(slice)
    const counted = all.filter((file) => !centralLists.has(file))
    t.comment(`${slice}: ${counted.length} of at most ${max}, and ${all.length - counted.length} central lists`)
    t.ok(counted.length <= max, `${slice}: ${counted.join(', ')}`)
  }
})

t.test('finds the files that refer to a slice', async (t) => {
  t.ok(filesToChange('social').includes('app/feature-list.ts'))
  t.ok(filesToChange('passkeys').includes('platform/config/features.ts'))
  for (const file of centralLists)
    t.ok(
      files.some((source) => source.file === file),
      `${file} exists`,
    )
})
