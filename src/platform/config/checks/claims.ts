import type { Path, Report } from '../findings.ts'
import { nearest } from '../nearest.ts'
import type { Config } from '../schema.ts'
import { reservedClaims } from './reserved-claims.ts'

/** Rules about the section `claims`. */
export const claimChecks = [namesAreFree, receiversExist, sourcesAreClear] as const

function namesAreFree({ claims, users }: Config, report: Report): void {
  const owners = new Map<string, string>()
  const ofFields = Object.values(users.fields).map(({ claim }) => claim)
  for (const [index, { claim, clients, apis }] of claims.entries()) {
    const path: Path = ['claims', index, 'claim']
    if (reservedClaims.has(claim)) report(path, `must not be ${claim}, which is reserved`)
    if (ofFields.includes(claim)) report(path, `must not be ${claim}, which is the claim of a field in users.fields`)
    for (const receiver of [...clients.map((id) => `client ${id}`), ...apis.map((name) => `API ${name}`)]) {
      const key = `${receiver} ${claim}`
      const first = owners.get(key)
      if (first !== undefined) report(path, `is set for the ${receiver} in claims[${first}] already (found "${claim}")`)
      else owners.set(key, String(index))
    }
  }
}

function receiversExist({ claims, clients: known, apis: knownApis }: Config, report: Report): void {
  const ids = known.map(({ client_id }) => client_id)
  for (const [index, { clients, apis }] of claims.entries()) {
    if (clients.length + apis.length === 0) report(['claims', index, 'clients'], 'must name a client, or apis an API')
    for (const [at, id] of clients.entries()) {
      if (ids.includes(id)) continue
      const near = nearest(id, ids)
      const hint = near === undefined ? '' : `; did you mean ${near}?`
      report(['claims', index, 'clients', at], `must be the client_id of a client (found "${id}")${hint}`)
    }
    for (const [at, name] of apis.entries()) {
      if (!Object.hasOwn(knownApis, name))
        report(['claims', index, 'apis', at], `must be the name of an API in apis (found "${name}")`)
    }
  }
}

function sourcesAreClear({ claims, users }: Config, report: Report): void {
  for (const [index, { from, value, map, first, default: fallback, apis, clients }] of claims.entries()) {
    const path: Path = ['claims', index]
    if ((from === null) === (value === null)) {
      report([...path, 'from'], from === null ? 'is required, unless value is set' : 'cannot be combined with value')
    }
    const [, field] = /^fields\.(.*)$/.exec(from ?? '') ?? []
    if (field !== undefined && !Object.hasOwn(users.fields, field)) {
      report([...path, 'from'], `must name a field of users.fields (found "${field}")`)
    }
    const isMapped = Object.keys(map).length > 0
    if (value !== null && isMapped) report([...path, 'map'], 'must be empty together with value')
    if (value !== null && fallback !== null) report([...path, 'default'], 'must be null together with value')
    if (first && !isMapped) report([...path, 'first'], 'must be false without map')
    const number = Object.keys(map).find((key) => /^\d+$/.test(key))
    if (first && number !== undefined)
      report([...path, 'map', number], 'must not be a number with first: true, because numbers lose their order')
    if (from === 'api' && clients.length > 0) report([...path, 'clients'], 'must be empty with from: api')
    if (from === 'api' && apis.length === 0) report([...path, 'apis'], 'must name an API with from: api')
  }
}
