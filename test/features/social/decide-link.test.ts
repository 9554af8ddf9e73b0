// engine: none
import t from 'tap'
import { decideLink, type LinkFacts } from '../../../src/features/social/decide-link.ts'

const [me, other] = [1, 2]

const askers: LinkFacts['asker'][] = [null, { intent: 'link', userId: me }, { intent: 'confirm', userId: me }]
const owners: LinkFacts['owner'][] = [
  null,
  { userId: me, disabled: false, hasPassword: false },
  { userId: me, disabled: false, hasPassword: true },
  { userId: other, disabled: false, hasPassword: false },
  { userId: other, disabled: true, hasPassword: false },
]
const emails: LinkFacts['email'][] = [null, { verified: true }, { verified: false }]
const accounts: LinkFacts['account'][] = [
  null,
  ...[me, other].flatMap((userId) =>
    [true, false].flatMap((claimable) =>
      [true, false].flatMap((verified) => [true, false].map((disabled) => ({ userId, verified, claimable, disabled }))),
    ),
  ),
]

const all: LinkFacts[] = askers.flatMap((asker) =>
  owners.flatMap((owner) =>
    emails.flatMap((email) =>
      accounts.flatMap((account) =>
        [true, false].map((registrationEnabled) => ({ asker, owner, email, account, registrationEnabled })),
      ),
    ),
  ),
)

const facts: LinkFacts = {
  asker: null,
  owner: null,
  email: { verified: true },
  account: null,
  registrationEnabled: true,
}
const stranger = { userId: other, disabled: false, hasPassword: false }
const self = { ...stranger, userId: me }
const known = { userId: other, verified: true, claimable: false, disabled: false }

/** One line for each case of the specification. */
const table: [string, Partial<LinkFacts>, object][] = [
  ['known by its id', { owner: stranger }, { action: 'sign_in', userId: other }],
  [
    'known by its id, whatever its address is today',
    { owner: stranger, email: null, account: { ...known, userId: me } },
    { action: 'sign_in', userId: other },
  ],
  [
    'known by its id, where registration is closed',
    { owner: stranger, registrationEnabled: false },
    { action: 'sign_in', userId: other },
  ],
  [
    'known by its id, disabled',
    { owner: { ...stranger, disabled: true } },
    { action: 'refuse', code: 'access_denied' },
  ],
  ['verified at both sides', { account: known }, { action: 'link', userId: other, claim: false }],
  [
    'verified at both sides, where registration is closed',
    { account: known, registrationEnabled: false },
    { action: 'link', userId: other, claim: false },
  ],
  [
    'verified only there: its owner takes the account over',
    { account: { ...known, verified: false, claimable: true } },
    { action: 'link', userId: other, claim: true },
  ],
  [
    'verified only there, while an earlier address of the account was verified',
    { account: { ...known, verified: false } },
    { action: 'refuse', code: 'account_exists' },
  ],
  ['verified here alone', { email: { verified: false }, account: known }, { action: 'refuse', code: 'account_exists' }],
  [
    'verified only here, where registration reveals nothing',
    { email: { verified: false }, account: known, registrationEnabled: false },
    { action: 'refuse', code: 'email_unverified' },
  ],
  [
    'verified nowhere',
    { email: { verified: false }, account: { ...known, verified: false } },
    { action: 'refuse', code: 'account_exists' },
  ],
  ['disabled', { account: { ...known, disabled: true } }, { action: 'refuse', code: 'access_denied' }],
  [
    'disabled before it was verified',
    { account: { ...known, verified: false, disabled: true } },
    { action: 'refuse', code: 'access_denied' },
  ],
  [
    'disabled, by an unverified address: not revealed',
    { email: { verified: false }, account: { ...known, disabled: true } },
    { action: 'refuse', code: 'account_exists' },
  ],
  ['new', {}, { action: 'create' }],
  [
    'new, where registration is closed',
    { registrationEnabled: false },
    { action: 'refuse', code: 'registration_disabled' },
  ],
  ['new, not verified', { email: { verified: false } }, { action: 'refuse', code: 'email_unverified' }],
  ['new, without an address', { email: null }, { action: 'refuse', code: 'email_missing' }],
  ['linked', { asker: { intent: 'link', userId: me } }, { action: 'link', userId: me, claim: false }],
  [
    'linked, whatever account has its address',
    { asker: { intent: 'link', userId: me }, account: known },
    { action: 'link', userId: me, claim: false },
  ],
  [
    'linked without an address, where registration is closed',
    { asker: { intent: 'link', userId: me }, email: null, registrationEnabled: false },
    { action: 'link', userId: me, claim: false },
  ],
  [
    'linked again',
    { asker: { intent: 'link', userId: me }, owner: self },
    { action: 'link', userId: me, claim: false },
  ],
  [
    "linked although it is another user's",
    { asker: { intent: 'link', userId: me }, owner: stranger },
    { action: 'refuse', code: 'account_exists' },
  ],
  ['confirmed', { asker: { intent: 'confirm', userId: me }, owner: self }, { action: 'confirm', userId: me }],
  [
    'confirmed although there is a password',
    { asker: { intent: 'confirm', userId: me }, owner: { ...self, hasPassword: true } },
    { action: 'refuse', code: 'access_denied' },
  ],
  [
    "confirmed with another user's",
    { asker: { intent: 'confirm', userId: me }, owner: stranger },
    { action: 'refuse', code: 'access_denied' },
  ],
  [
    'confirmed with one that is not linked, of the same address',
    { asker: { intent: 'confirm', userId: me }, account: { ...known, userId: me } },
    { action: 'refuse', code: 'access_denied' },
  ],
]

t.test('returns the specified decision for each case', async (t) => {
  for (const [name, change, decision] of table) t.strictSame(decideLink({ ...facts, ...change }), decision, name)
})

t.test('never opens an account of another user, for any combination of facts', async (t) => {
  t.equal(all.length, 3 * 5 * 3 * 17 * 2)
  for (const each of all) {
    const { asker, owner, email, account, registrationEnabled } = each
    const decision = decideLink(each)
    const name = `${JSON.stringify(each)}: ${JSON.stringify(decision)}`
    const opened = 'userId' in decision ? decision.userId : null
    if (opened !== null) {
      const isByAddress = email?.verified === true && account?.userId === opened
      t.ok(opened === asker?.userId || opened === owner?.userId || isByAddress, `no other user's account ${name}`)
      if (owner && opened !== asker?.userId) t.notOk(owner.disabled, `no disabled account ${name}`)
      if (!owner && !asker) t.notOk(account?.disabled, `no disabled account ${name}`)
      if (owner) t.equal(opened, owner.userId, `an identity has one owner ${name}`)
      if (asker) t.equal(opened, asker.userId, `the signed-in user stays the same ${name}`)
    }
    if (decision.action === 'link' && !asker) {
      t.ok(email?.verified && account, `no unverified address ${name}`)
      t.equal(decision.claim, !account?.verified, `an unverified account is taken over empty ${name}`)
    }
    if (decision.action === 'link' && asker) t.notOk(decision.claim, `linking removes nothing ${name}`)
    if (decision.action === 'create') {
      t.ok(
        registrationEnabled && email?.verified && !account && !owner && !asker,
        `no account is created twice ${name}`,
      )
    }
    if (decision.action === 'confirm') t.equal(owner?.userId, asker?.userId, name)
    if (decision.action === 'sign_in') t.ok(owner && !asker, name)
  }
})
