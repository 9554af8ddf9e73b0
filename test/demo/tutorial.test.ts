// engine: none
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { freePort, temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')
const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
const run = promisify(execFile)

/** The code blocks in their order, each with the paragraph before it. */
const blocks = [...tutorial.matchAll(/^([^\n]*)\n\n```(\w+)\n(.*?)^```$/gms)].map(
  ([, before = '', language, code = '']) => {
    const [, file = null] = /`([\w/]+\.(?:yaml|js|html))`/.exec(before) ?? []
    return { before, language, code, file }
  },
)

t.test('quotes the files of the demo', async (t) => {
  const files = blocks.filter(({ file, before }) => file !== null && !/rules/.test(before))
  t.strictSame(
    files.map(({ file }) => file),
    ['svc.yaml', 'api.js', 'gateway.js', 'spa/index.html', 'spa/app.js'],
  )
  for (const { file, code } of files) {
    const path = file === 'svc.yaml' ? 'demo/svc.yaml' : `demo/shop/${file}`
    t.ok(readFileSync(join(root, path), 'utf8').includes(code), path)
  }
  const oauth = readFileSync(join(root, 'docs/oauth.md'), 'utf8')
  const reports = readFileSync(join(root, 'demo/reports/server.js'), 'utf8')
  const [, quoted = ''] = /## A client on a server\n.*?```js\n(.*?)^```$/ms.exec(oauth) ?? []
  t.ok(quoted.length > 500)
  for (const part of quoted.split('\n\n').slice(1)) t.ok(reports.includes(part.trim()), part)
  const [, client = ''] = /^ {2}```yaml\n(.*?)^ {2}```$/ms.exec(tutorial) ?? []
  t.ok(readFileSync(join(root, 'demo/svc.yaml'), 'utf8').includes(client.replace(/^ {2}/gm, '')))
})

if (hasChromium(t))
  t.test('leads to the shop, as printed', async (t) => {
    const folder = temporaryDirectory(t)
    const [checkout, shop] = [join(folder, 'svc'), join(folder, 'shop')]
    mkdirSync(checkout)
    const ports = Object.fromEntries(
      await Promise.all([8000, 8001, 3000, 5173].map(async (port) => [port, await freePort()] as const)),
    )
    const local = (text: string) =>
      text.replace(/(?<=(?:localhost:|127\.0\.0\.1:|port: ))(8000|8001|3000|5173)/g, (port) => String(ports[port]))
    const bin = `PATH="${join(root, 'node_modules/.bin')}:$PATH"; export NODE_OPTIONS=--no-warnings; `
    // What a reader types in a checkout runs in a folder with the files of this one.
    const command = (text: string) =>
      bin +
      local(text)
        .replace(/^npm start/m, `exec node "${root}/src/main.ts"`)
        .replaceAll('npm run --silent svc --', `node "${root}/src/cli.ts"`)
        .replace(
          /npm run --silent (client|guard):pack/g,
          `(cd "${root}" && npm run --silent $1:pack -- --pack-destination "${checkout}")`,
        )
    const env = { ...process.env, PORT: String(ports[8000]) }
    /** Starts a command that keeps running. */
    const start = async (cwd: string, text: string, isReady: () => Promise<boolean>) => {
      const child = spawn('bash', ['-euo', 'pipefail', '-c', command(text)], { cwd, env })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (part) => (output += part))
      t.teardown(() => child.kill('SIGKILL'))
      await until(async () => child.exitCode !== null || (await isReady()))
      if (child.exitCode !== null) throw new Error(output)
    }
    const finish = async (cwd: string, text: string) =>
      (await run('bash', ['-euo', 'pipefail', '-c', command(text)], { cwd, env })).stdout
    const answers = (port: number, path: string) => async () =>
      (await fetch(`http://localhost:${ports[port]}${path}`).catch(() => null)) !== null

    let printed = ''
    for (const { code, file, language } of blocks.slice(0, -1)) {
      if (file) {
        mkdirSync(join(shop, 'spa'), { recursive: true })
        // By default, svc knows the port 5173.
        const also = file === 'svc.yaml' ? `stateful: ["localhost:${ports[5173]}"]\n` : ''
        writeFileSync(join(file === 'svc.yaml' ? checkout : shop, file), also + local(code))
      } else if (code.startsWith('npm start')) await start(checkout, code, answers(8000, '/health/ready'))
      else if (code.startsWith('node api')) await start(shop, code, answers(3000, '/orders'))
      else if (code.startsWith('node gateway')) await start(shop, code, answers(5173, '/'))
      else if (language === 'sh') printed = await finish(checkout, code)
    }
    t.match(printed, /"item":"Coffee".*Logged out.*Unauthenticated\./s)

    const page = await (await openChromium(t)).newPage()
    await page.goto(`http://localhost:${ports[5173]}`)
    await page.getByLabel('Email').fill('ada@acme.example')
    await page.getByLabel('Password').fill('correct horse')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Coffee, by Grace').waitFor()
    await page.getByLabel('Item').fill('Tea')
    await page.getByRole('button', { name: 'Order' }).click()
    await page.getByText('Tea, by Ada Lovelace').waitFor()

    const rules = local(blocks.at(-1)?.code ?? '').replace(/^(?=.)/gm, '  ')
    const yaml = readFileSync(join(checkout, 'svc.yaml'), 'utf8')
    writeFileSync(join(checkout, 'svc.yaml'), yaml.replace(/^ {2}rules:\n( {4}.*\n)+/m, rules))
    const [, message = ''] = /An order now fails with "([^"]+)"/.exec(tutorial) ?? []
    await until(async () => {
      await page.getByLabel('Item').fill('Cake')
      await page.getByRole('button', { name: 'Order' }).click()
      return page
        .getByText(message)
        .waitFor({ timeout: 1_000 })
        .then(
          () => true,
          () => false,
        )
    })
  })
