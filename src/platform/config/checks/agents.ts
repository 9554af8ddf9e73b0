import type { Path } from '../findings.ts'
import type { Config } from '../schema.ts'
import { isManagementScope } from '../sections/admin.ts'

type Client = Config['clients'][number]
type Report = (key: string | Path, message: string) => void

/** Rules for clients that act for users. */
export function agentsAreLimited(
  { may_act_for, grants, scopes, exchange }: Client,
  report: Report,
  config: Config,
): void {
  if (!may_act_for) return
  if (!grants.includes('token_exchange')) report('may_act_for', 'requires the grant token_exchange')
  else if (exchange.length === 0) report('exchange', 'must name the clients whose users the client may act for')
  for (const [index, scope] of may_act_for.scopes.entries()) {
    const path = ['may_act_for', 'scopes', index]
    if (isManagementScope(scope)) report(path, `must not be ${scope}: no agent administers svc for a user`)
    else if (!scopes.includes(scope)) report(path, `must be one of the scopes of the client (found "${scope}")`)
  }
  for (const [index, name] of (may_act_for.apis ?? []).entries()) {
    if (Object.hasOwn(config.apis, name)) continue
    report(['may_act_for', 'apis', index], `must be the name of an API in apis (found "${name}")`)
  }
}
