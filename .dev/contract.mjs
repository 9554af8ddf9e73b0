// npm run contract:release: keeps what is public in this version in docs/contract. With --check it writes nothing and fails if
// something public broke since the latest release without a decision in docs/contract/decisions.json.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { commands } from '../src/cli/command-list.ts'
import { WebhookMessage } from '../src/features/webhooks/message.ts'
import { eventTypes } from '../src/platform/event-types.ts'
import { version } from '../src/platform/version.ts'
import { apiDescription } from './api-description.mjs'
import { breakingChanges } from './contract-changes.mjs'

const root = new URL('../', import.meta.url)
const folder = new URL('docs/contract/', root)
const decisionsFile = new URL('decisions.json', folder)
const current = JSON.parse(JSON.stringify(await contract()))

if (process.argv.includes('--check')) check()
else release()

/** Everything that is public. docs/versioning.md says what a version may change of it. */
async function contract() {
  return {
    api: await apiDescription(),
    configuration: JSON.parse(readFileSync(new URL('config/svc.schema.json', root), 'utf8')),
    commands: Object.fromEntries(commands.map((command) => [command.name, signatureOf(command)])),
    events: [...eventTypes].sort(),
    webhooks: WebhookMessage,
    metrics: metrics(),
  }
}

function signatureOf({ arguments: words = [], options, aliases = [] }) {
  const optional = Object.entries(options).map(([name, { value }]) => [name, value ? 'value' : 'flag'])
  return {
    arguments: words.map(({ name, required }) => (required ? name : `[${name}]`)),
    options: Object.fromEntries(optional.sort()),
    aliases: [...aliases],
  }
}

/** Types and labels of the metrics. A test compares their table in the manual with what svc serves. */
function metrics() {
  const manual = readFileSync(new URL('docs/observability.md', root), 'utf8')
  const rows = manual.matchAll(/^\| `(svc_\w+)` +\| (\w+) +\| ([\w ]*?) *\|/gm)
  return Object.fromEntries([...rows].map(([, name, type, labels]) => [name, { type, labels: labels.split(' ') }]))
}

function release() {
  const [major, minor] = version.split('.')
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${major}.${minor}.json`, folder), `${JSON.stringify(current)}\n`)
  writeFileSync(decisionsFile, '[]\n')
}

function check() {
  const [latest] = readdirSync(folder)
    .filter((file) => /^\d+\.\d+\.json$/.test(file))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const before = JSON.parse(readFileSync(new URL(latest, folder), 'utf8'))
  const decisions = existsSync(decisionsFile) ? JSON.parse(readFileSync(decisionsFile, 'utf8')) : []
  const decided = new Set(decisions.filter(({ reason }) => reason).map(({ change }) => change))
  const found = breakingChanges(before, current)
  const undecided = found.filter((change) => !decided.has(change))
  const stale = [...decided].filter((change) => !found.includes(change))
  for (const change of undecided) console.error(`breaks ${latest}: ${change}`)
  for (const change of stale) console.error(`decided, but not a change since ${latest}: ${change}`)
  if (undecided.length > 0)
    console.error('Undo the change, or add {"change", "reason"} to docs/contract/decisions.json.')
  if (undecided.length + stale.length > 0) process.exitCode = 1
}
