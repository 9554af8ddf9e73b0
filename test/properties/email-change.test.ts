// engine: none
import fc from 'fast-check'
import t from 'tap'
import { mailedLink } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { day, hour, minute } from '../support/clock.ts'
import { expectEqual, expectStatus, runModel, step, stepOn } from '../support/model-run.ts'

const password = 'correct horse'
const undoTime = 7 * day
/** How long the link to a new address works. */
const linkTime = hour

/** A change of the address that its old owner can undo. */
interface Change {
  from: string
  to: string
  link: string
  until: number
  isApplied: boolean
}

/** A new address that waits for its proof: the link to it, and until when the link works. */
interface Pending {
  email: string
  verify: string
  until: number
}

interface Model {
  spa: Browser
  /** The name of this account's addresses. */
  name: string
  email: string
  pending: Pending | null
  /** Links to pending addresses that another address replaced. */
  replaced: Pending[]
  changes: Change[]
  /** Undo links that no longer work. */
  spent: string[]
  hasPassword: boolean
  now: number
}

const undoLink = async (svc: TestApp, address: string): Promise<string> => {
  const texts = (await svc.mailbox.to(address)).map(({ text }) => /http:\S+\/email\/undo\/\S+/.exec(text)?.[0])
  return (texts.findLast((text) => text !== undefined) ?? 'none').replace('http://localhost:8000', '')
}

/** Presses the button behind an undo link, in a browser without cookies. */
const press = (svc: TestApp, url: string) =>
  svc.app.inject({
    method: 'POST',
    url,
    headers: {
      ...{ accept: 'text/html', origin: 'http://localhost:8000' },
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: '',
  })

/** Forgets the changes whose time to undo has passed. That of a pending change begins again when it takes effect. */
function expire(model: Model): void {
  const isOver = ({ until, isApplied }: Change) => isApplied && model.now >= until
  model.spent.push(...model.changes.filter(isOver).map(({ link }) => link))
  model.changes = model.changes.filter((change) => !isOver(change))
}

async function checkUser({ spa, email, pending, hasPassword }: Model): Promise<void> {
  if (hasPassword) {
    const user = (await spa.get('/api/user')).json()
    expectEqual([user.email, user.pending_email], [email, pending?.email], 'the addresses')
  }
}

t.test('changes addresses after a proof, and lets each old owner take the account back for a week', async (t) => {
  const rate_limits = { mail: null, login: null, login_address: null }
  const svc = await buildTestApp(t, { settings: { rate_limits } })
  let accounts = 0
  const confirm = (spa: Browser) => spa.post('/user/confirm-password', { password })
  const begin = async (): Promise<Model> => {
    const name = `owner${++accounts}`
    const email = `${name}.0@example.com`
    await svc.createUser({ email })
    const spa = svc.browser()
    await spa.signIn(email)
    const lists = { replaced: [], changes: [], spent: [] }
    return { spa, name, email, pending: null, ...lists, hasPassword: true, now: 0 }
  }
  await runModel<Model>(t, begin, {
    change: step({
      input: fc.integer({ min: 0, max: 5 }),
      isPossible: ({ hasPassword }: Model) => hasPassword,
      async run(model, number) {
        const { spa, name } = model
        const email = `${name}.${number}@example.com`
        await confirm(spa)
        const answer = await spa.put('/user/profile-information', { name: 'Ada', email })
        expectStatus(answer, 200, 'a change')
        // A form that repeats the current address changes only the name.
        if (email !== model.email && model.pending?.email !== email) {
          if (model.pending) model.replaced.push(model.pending)
          model.pending = { email, verify: await mailedLink(svc, email), until: model.now + linkTime }
          const link = await undoLink(svc, model.email)
          model.changes = model.changes.filter(({ isApplied }) => isApplied)
          model.changes.push({ from: model.email, to: email, link, until: model.now + undoTime, isApplied: false })
        }
        await checkUser(model)
      },
    }),
    verify: step({
      input: fc.constant(null),
      isPossible: ({ pending, hasPassword }: Model) => pending !== null && hasPassword,
      async run(model) {
        const { pending, spa } = model
        if (!pending) return
        if (model.now >= pending.until) {
          expectStatus(await spa.get(pending.verify), 403, 'an expired link')
          await spa.post('/email/verification-notification')
          Object.assign(pending, { verify: await mailedLink(svc, pending.email), until: model.now + linkTime })
        }
        expectStatus(await spa.get(pending.verify), 204, 'the link to the new address')
        const change = model.changes.find(({ isApplied }) => !isApplied)
        if (change) Object.assign(change, { isApplied: true, until: model.now + undoTime })
        Object.assign(model, { email: pending.email, pending: null })
        await checkUser(model)
      },
    }),
    'open a link to a replaced address': stepOn(
      ({ replaced, hasPassword }: Model) => (hasPassword ? replaced : []),
      async (model, { email, verify, until }) => {
        // The link to an address that the account has got by now does nothing.
        const isCurrent = email === model.email && model.now < until
        expectStatus(await model.spa.get(verify), isCurrent ? 204 : 403, 'a link to a replaced address')
        await checkUser(model)
      },
    ),
    undo: stepOn(
      ({ changes }: Model) => changes,
      async (model, change) => {
        const isLate = model.now >= change.until
        expectStatus(await press(svc, change.link), isLate ? 403 : 200, 'an undo')
        if (isLate) return
        // Later changes fall with this one, and earlier owners keep their links.
        const position = model.changes.indexOf(change)
        model.spent.push(...model.changes.slice(position).map(({ link }) => link))
        model.changes = model.changes.slice(0, position)
        if (model.pending) model.replaced.push(model.pending)
        Object.assign(model, { email: change.from, pending: null, hasPassword: false })
        expectStatus(await model.spa.get('/api/user'), 401, 'the session that made the change')
        expectStatus(await svc.browser().signIn(change.from), 401, 'the password that was known before')
      },
    ),
    'use a spent undo link': stepOn(
      ({ spent }: Model) => spent.slice(-2),
      async (model, link) => {
        expectStatus(await press(svc, link), 403, 'a spent undo link')
        await checkUser(model)
      },
    ),
    recover: step({
      input: fc.constant(null),
      isPossible: ({ hasPassword }: Model) => !hasPassword,
      async run(model) {
        const { email } = model
        // svc mails one reset a minute.
        svc.clock.advance(2 * minute)
        model.now += 2 * minute
        expire(model)
        const guest = svc.browser()
        await guest.get('/svc/csrf-cookie')
        await guest.post('/forgot-password', { email })
        const token = await svc.mailbox.find(email, /reset-password\/(\w+)/)
        const form = { email, token, password, password_confirmation: password }
        expectStatus(await guest.post('/reset-password', form), 200, 'a reset')
        model.spa = svc.browser()
        expectStatus(await model.spa.signIn(email), 200, 'the new password')
        model.hasPassword = true
        await checkUser(model)
      },
    }),
    wait: step({
      input: fc.constantFrom(minute, 2 * hour, day, 7 * day),
      async run(model, time) {
        svc.clock.advance(time)
        model.now += time
        expire(model)
        if (model.hasPassword) {
          model.spa = svc.browser()
          await model.spa.signIn(model.email)
        }
      },
    }),
  })
})
