// engine: none
import t from 'tap'
import { runCommandOn } from '../../support/command.ts'
import { buildGuarded, type Guarded } from './setup.ts'

const names = { staff: 'Staff', 'on-call': 'On call', editors: 'Editors' }

/** A user in these groups, and what the guard answers to the user's API token. */
async function member(svc: Guarded, groups: readonly string[], role = 'user') {
  const user = await svc.createUser({ role })
  for (const group of groups) await runCommandOn(svc, 'group:add', group, `--id=${user.id}`)
  const headers = { authorization: `Bearer ${await svc.createToken(user)}` }
  return { user, ask: (url?: string) => svc.ask({ headers, ...(url ? { url } : {}) }) }
}

t.test('lets users pass who are in one of the groups, or in all of them', async (t) => {
  const rules = [
    { paths: ['/any'], groups: ['staff', 'editors'] },
    { paths: ['/all'], all_groups: ['staff', 'on-call'] },
    { paths: ['/both'], groups: ['editors'], all_groups: ['staff', 'on-call'], roles: ['admin'] },
  ]
  const svc = await buildGuarded(t, rules, { groups: { names } })
  const cases: [groups: string[], role: string, passes: string[]][] = [
    [[], 'staff', []],
    [['staff'], 'user', ['/any']],
    [['editors'], 'user', ['/any']],
    [['staff', 'on-call'], 'admin', ['/any', '/all']],
    [['staff', 'on-call', 'editors'], 'user', ['/any', '/all']],
    [['staff', 'on-call', 'editors'], 'admin', ['/any', '/all', '/both']],
  ]
  for (const [groups, role, passes] of cases) {
    const { ask } = await member(svc, groups, role)
    for (const path of ['/any', '/all', '/both']) {
      const { statusCode } = await ask(`https://api.example.com${path}`)
      t.equal(statusCode, passes.includes(path) ? 200 : 403, `${groups.join(' ')} as ${role} at ${path}`)
    }
  }
})

t.test('notices a change of the groups with the next request', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'], groups: ['staff'] }], { groups: { names } })
  const { user, ask } = await member(svc, ['staff'])
  t.match(await ask(), { statusCode: 200, headers: { 'remote-groups': 'staff' } })
  await runCommandOn(svc, 'group:add', 'editors', `--id=${user.id}`)
  t.match((await ask()).headers, { 'remote-groups': 'editors,staff' })
  await runCommandOn(svc, 'group:remove', 'staff', `--id=${user.id}`)
  t.equal((await ask()).statusCode, 403)
})

t.test('sends groups with the separator of the configuration, and the role on request', async (t) => {
  const settings = { groups: { names, include_role: true }, guard: { groups_separator: '|' } }
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'], groups: ['head | of 100%'] }], settings)
  const { ask } = await member(svc, ['staff'], 'head | of 100%')
  t.match(await ask(), { statusCode: 200, headers: { 'remote-groups': 'head %7C of 100%25|staff' } })
})

t.test('sends no header for a user without groups', async (t) => {
  const svc = await buildGuarded(t, [{ hosts: ['api.example.com'] }], { groups: { names } })
  const { ask } = await member(svc, [])
  t.notHas((await ask()).headers, { 'remote-groups': '' })
})
