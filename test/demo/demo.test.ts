// engine: none
// In the process of the tutorial, one after the other: both build the packages of this checkout.
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { codeAt } from '../support/totp.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')

/** Runs the demo until it says that it runs. */
async function startDemo(
  t: Test,
): Promise<{ child: ChildProcess; output: () => string; ended: Promise<number | null> }> {
  const child = spawn(process.execPath, ['demo/run.ts'], { cwd: root })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
  const ended = new Promise<number | null>((done) => child.once('close', done))
  // SIGTERM, so that the demo ends its own processes.
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await until(() => text.includes('The demo runs.') || child.exitCode !== null)
  return { child, output: () => text, ended }
}

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('svc-demo-'))

if (hasChromium(t))
  t.test('does everything that the start page of the demo names', async (t) => {
    const before = folders()
    const demo = await startDemo(t)
    t.match(demo.output(), 'Open http://localhost:4000')
    const browser = await openChromium(t)
    const page = await browser.newPage()
    await page.goto('http://localhost:4000')
    const texts = await page.locator('code').allTextContents()
    const [email = '', password = ''] = texts

    await page.getByRole('link', { name: 'The shop' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('credentials').waitFor()
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Coffee, by Grace').waitFor()
    await page.getByLabel('Item').fill('Tea <b>')
    await page.getByRole('button', { name: 'Order' }).click()
    await page.getByText('Tea <b>, by Ada Lovelace').waitFor()

    await page.goto('http://localhost:5180')
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await page.getByRole('button', { name: 'Authorize' }).click()
    await page.getByText('Tea <b>').waitFor()
    t.match(await page.locator('pre').first().textContent(), email)
    await page.goto('http://localhost:8000/account')
    t.match(await page.textContent('body'), 'Ada Lovelace')
    await page.goto('http://localhost:5180')
    await page.getByRole('link', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor()

    await page.goto('http://localhost:5173')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Signed in as').waitFor()
    await page.goto('http://localhost:8000/account/two-factor')
    await page.getByRole('link', { name: 'Set up' }).click()
    const secret = ((await page.textContent('#secret-key')) ?? '').replaceAll(' ', '')
    await page.locator('#code').fill(codeAt(secret, Date.now()))
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.locator('#codes-saved').waitFor()
    await page.goto('http://localhost:5173')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    // Each code works once. svc also accepts the next one.
    await page.getByLabel('Code of your app').fill(codeAt(secret, Date.now(), 1))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Signed in as Ada Lovelace').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Password').waitFor()
    t.equal(await page.getByLabel('Password').inputValue(), '', 'the form is empty again')

    await page.goto('http://localhost:8000/login')
    await page.getByRole('link', { name: 'Forgot' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button').last().click()
    await page.goto('http://localhost:4000/mails')
    await until(async () => {
      await page.reload()
      return (await page.locator('article h2', { hasText: 'Reset your password' }).count()) > 0
    })

    await page.goto('http://localhost:8000/login')
    await page.getByRole('link', { name: 'Partner Ltd' }).click()
    const [, , grace = '', word = ''] = texts
    await page.getByLabel('Email').fill(grace)
    await page.getByLabel('Password', { exact: true }).fill(word)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Authorize' }).click()
    await page.getByText('Grace Hopper').first().waitFor()
    await page.goto('http://localhost:5173')
    await page.getByText('Signed in as Grace Hopper').waitFor()

    demo.child.kill('SIGTERM')
    t.equal(await demo.ended, 0, demo.output())
    t.strictSame(folders(), before, 'its data is gone')
  })

t.test('says which port is in use', async (t) => {
  const blocker = createServer()
  await new Promise<void>((done) => blocker.listen(5180, '127.0.0.1', () => done()))
  t.teardown(() => blocker.close())
  const demo = await startDemo(t)
  t.equal(await demo.ended, 1)
  t.match(demo.output(), 'Port 5180 is in use, but Reports needs it.')
})
