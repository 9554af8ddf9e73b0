import type { LightMyRequestResponse } from 'fastify'
import type { Operation } from './operations.ts'
import type { Random } from './random.ts'
import { wiki } from './replicas.ts'
import { link, type Token, type World } from './world.ts'

const outcomeOf = ({ statusCode }: LightMyRequestResponse): boolean | null =>
  statusCode >= 500 ? null : statusCode < 300

const asAdministrator = ({ adminToken }: World) => ({ authorization: `Bearer ${adminToken}`, 'svc-reason': 'a test' })

const setMember: Operation = {
  name: 'add a user to the group, or take the user out',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const isMember = random.chance(0.5)
    const settle = account.isMember.setting(isMember)
    const answer = await random.pick(world.replicas.apps).inject({
      method: isMember ? 'PUT' : 'DELETE',
      url: `/admin/v1/groups/${wiki.group}/members/${account.id}`,
      headers: asAdministrator(world),
    })
    // 404: the user was not in the group.
    settle(answer.statusCode === 404 && !isMember ? true : outcomeOf(answer))
  },
}

const reload: Operation = {
  name: 'reload the configuration of a replica',
  async run({ replicas, staffOnly }, random) {
    const index = random.below(replicas.apps.length)
    const isStaffOnly = random.chance(0.7)
    const settle = staffOnly[index]?.setting(isStaffOnly)
    replicas.apps[index]?.config.swap(isStaffOnly ? replicas.staffOnly : replicas.everyone)
    settle?.(true)
  },
}

/** Asks the guard about a request with a token, and checks the answer against the group and the rule. */
async function askGuard(world: World, random: Random, { account, text }: Token): Promise<void> {
  const index = random.below(world.replicas.apps.length)
  const [isMember, isStaffOnly] = [account.isMember.reading(), world.staffOnly[index]?.reading()]
  const answer = await world.replicas.apps[index]?.inject({
    url: '/svc/guard',
    remoteAddress: '127.0.0.1',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${text}`,
      'x-forwarded-method': 'GET',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': wiki.host,
      'x-forwarded-uri': '/pages',
    },
  })
  const [member, rule] = [isMember(), isStaffOnly?.() ?? null]
  if (member === null || rule === null || !answer) return
  if (answer.statusCode === 200 && rule && !member)
    world.violated(`the guard let ${account.email} pass, who is not in the group`)
  if (answer.statusCode === 403 && (!rule || member)) world.violated(`the guard refused ${account.email}, who may pass`)
}

const guardToken: Operation = {
  name: 'ask the guard with a token',
  async run(world, random) {
    if (world.tokens.length > 0) await askGuard(world, random, random.pick(world.tokens))
  },
}

const unlink: Operation = {
  name: 'unlink accounts of a user without a password, twice at once',
  async run(world, random) {
    const { id, browsers } = world.linked
    const now = `to_timestamp(${world.now / 1000}) AT TIME ZONE 'UTC'`
    // This user is always there, so that the sessions do not expire.
    await world.replicas.asked(`UPDATE sessions SET last_seen_at = ${now}, created_at = ${now} WHERE user_id = ${id}`)
    const text = `SELECT id, provider FROM social_accounts WHERE user_id = ${id} ORDER BY id`
    const links = await world.replicas.asked(text)
    const areSame = random.chance(0.2)
    const attempt = async (index: number) => {
      const chosen = links[areSame ? 0 : index % links.length]
      const answer = await browsers[index]?.delete(`/user/social-accounts/${chosen?.id}`)
      if (!answer || answer.statusCode >= 500) return world.changed('social_unlinked', false)
      if (answer.statusCode === 200) world.changed('social_unlinked', true)
      else if (![404, 422].includes(answer.statusCode)) world.trace.push(`  unlinking answered ${answer.statusCode}`)
    }
    await Promise.all(browsers.map((_browser, index) => attempt(index)))
    const [row] = await world.replicas.asked(`SELECT count(*)::int AS count FROM social_accounts WHERE user_id = ${id}`)
    if (row?.count === 0) world.violated('a user without a password has no linked account left')
    const missing = ['github', 'gitlab'].filter((provider) => !links.some((each) => each.provider === provider))
    for (const provider of missing) await link(world.replicas, id, provider)
  },
}

const deliver: Operation = {
  name: 'send the mail that is due',
  async run({ replicas }, random) {
    await random.pick(replicas.apps).outbox.deliverDue()
  },
}

/** Operations about groups, the configuration, ways to sign in, and mail. */
export const accessOperations: readonly Operation[] = [
  ...[setMember, setMember, reload, guardToken, guardToken, guardToken, unlink, deliver],
]
