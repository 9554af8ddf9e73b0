// engine: none
// lane: all
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { Cookie, CookieJar } from 'tough-cookie'
import { guideTools, hasRuntimes } from '../guides/tools.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { Person, secret } from '../support/oauth.ts'
import { freePort, runCli, temporaryDirectory } from '../support/process.ts'
import { remoteBrowser } from '../support/remote.ts'
import { until } from '../support/until.ts'

const tools = guideTools()
const missing = 'THE PACKAGES FOR PYTHON ARE NOT INSTALLED (npm run guides:tools): DJANGO-ALLAUTH WAS NOT TESTED'
if (!tools) {
  process.stderr.write(`*** ${missing} ***\n`)
  t.notOk(process.env.CI && hasRuntimes(), missing)
}

t.test(
  'django-allauth signs members of a group in, and applies their groups',
  { skip: !tools && missing },
  async (t) => {
    const port = await freePort()
    const site = `http://127.0.0.1:${port}`
    const client = {
      ...{ client_id: 'django', name: 'Django', type: 'confidential', secret, first_party: true },
      redirect_uris: [`${site}/accounts/oidc/svc/login/callback/`],
      ...{ grants: ['authorization_code'], scopes: ['groups'] },
    }
    const names = { staff: 'Everyone who works here', 'site-admins': 'Administrators of the site' }
    const svc = await startWithAda(t, {}, { clients: [client], groups: { names } })
    const cwd = temporaryDirectory(t)
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(tools?.python ?? '', [join(import.meta.dirname, 'django_allauth.py')], {
      cwd,
      env: {
        PATH,
        HOME,
        PYTHONDONTWRITEBYTECODE: '1',
        SVC_ISSUER: svc.url,
        SITE: `127.0.0.1:${port}`,
        CLIENT_SECRET: secret,
      },
    })
    t.teardown(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
    await until(() => {
      if (child.exitCode !== null) throw new Error(output)
      return fetch(`${site}/me`).then(
        ({ ok }) => ok,
        () => false,
      )
    })

    /** Signs Ada in from a new browser; returns the status of the callback, and who is signed in then. */
    const signIn = async () => {
      const jar = new CookieJar()
      const ask = async (url: string) => {
        const answer = await fetch(url, { redirect: 'manual', headers: { cookie: await jar.getCookieString(url) } })
        for (const line of answer.headers.getSetCookie()) await jar.setCookie(Cookie.parse(line) ?? '', url)
        return answer
      }
      const begun = await ask(`${site}/accounts/oidc/svc/login/`)
      const { pathname, search } = new URL(begun.headers.get('location') ?? '')
      const browser = remoteBrowser(svc.url, { origin: svc.url, url: svc.url, xsrf: false })
      const person = new Person(browser, ada.email, svc.url)
      const { out } = await person.decide(await person.go(pathname + search))
      const { status } = await ask(out?.href ?? '')
      return { status, user: await (await ask(`${site}/me`)).json() }
    }
    const guest = { username: '', groups: [], admin: false }
    t.match(await signIn(), { status: 401, user: guest }, output)
    const add = (group: string) => runCli(['group:add', group, `--email=${ada.email}`], { cwd: svc.cwd, env: svc.env })
    t.equal((await add('staff')).code, 0)
    t.match(await signIn(), { status: 302, user: { username: 'ada-1', groups: ['staff'], admin: false } })
    await add('site-admins')
    t.match(await signIn(), { status: 302, user: { username: 'ada-1', groups: ['site-admins', 'staff'], admin: true } })
  },
)
