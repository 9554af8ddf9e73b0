import type { Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { reservedClaims } from './reserved-claims.ts'
import { signingProblems } from './signing-secrets.ts'

/** Rules about the section `hooks`. */
export const hookChecks = [secretsAreUsable, claimsAreFree] as const

function secretsAreUsable({ hooks }: Config, report: Report): void {
  for (const [name, hook] of Object.entries(hooks)) {
    for (const problem of hook ? signingProblems(hook.secret) : []) report(['hooks', name, 'secret'], problem)
  }
}

function claimsAreFree({ hooks, claims, users }: Config, report: Report): void {
  const owners = new Map([
    ...Object.values(users.fields).map(({ claim }) => [claim, 'of a field in users.fields'] as const),
    ...claims.map(({ claim }) => [claim, 'of an entry in claims'] as const),
  ])
  for (const [index, claim] of (hooks.before_token?.claims ?? []).entries()) {
    const path = ['hooks', 'before_token', 'claims', index]
    const owner = owners.get(claim)
    if (reservedClaims.has(claim)) report(path, `must not be ${claim}, which is reserved`)
    else if (owner !== undefined) report(path, `must not be ${claim}, which is the claim ${owner}`)
  }
}
