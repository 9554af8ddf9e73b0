// npm run openapi:release: keeps the API description of this version in docs/openapi. With --check it writes nothing and
// fails if the API broke a released description without a decision in docs/openapi/decisions.json.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { version } from '../src/platform/version.ts'
import { breakingChanges } from './api-changes.mjs'
import { apiDescription } from './api-description.mjs'

const folder = new URL('../docs/openapi/', import.meta.url)
const decisionsFile = new URL('decisions.json', folder)
const current = await apiDescription()

if (process.argv.includes('--check')) check()
else release()

function release() {
  const [major, minor] = version.split('.')
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${major}.${minor}.json`, folder), `${JSON.stringify(current)}\n`)
  writeFileSync(decisionsFile, '[]\n')
}

function check() {
  if (!existsSync(folder)) return
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
    console.error('Undo the change, or add {"change", "reason"} to docs/openapi/decisions.json.')
  if (undecided.length + stale.length > 0) process.exitCode = 1
}
