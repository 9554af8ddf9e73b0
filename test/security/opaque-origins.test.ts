// engine: none
import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { hasChromium } from '../support/chromium.ts'
import {
  identity,
  openSitesBrowser,
  postFormSilently,
  type Sites,
  signedInAt,
  signInAt,
  startSites,
  unsafeForms,
} from '../support/sites.ts'

/** Adds a frame to the current page, and returns it. */
async function frameWith(page: Page, attributes: Record<string, string>): Promise<Frame> {
  await page.evaluate(`new Promise((resolve) => {
    const frame = Object.assign(document.createElement('iframe'), { onload: resolve })
    for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) frame.setAttribute(name, value)
    document.body.append(frame)
  })`)
  const frame = page.frames().at(-1)
  if (!frame) throw new Error('The page has no frame.')
  return frame
}

const blank = '<!doctype html><body></body>'

/** Documents that post forms to svc, and the origin that browsers send for them. */
const documents: Record<string, { origin: RegExp; open(sites: Sites, page: Page): Promise<Page | Frame> }> = {
  'a sandboxed frame of a sibling subdomain': {
    origin: /^null$/,
    open: async ({ at }, page) => {
      await page.goto(at.sibling)
      return frameWith(page, { sandbox: 'allow-forms allow-scripts', srcdoc: blank })
    },
  },
  'a data: document': {
    origin: /^null$/,
    open: async ({ at }, page) => {
      await page.goto(at.sibling)
      return frameWith(page, { src: `data:text/html,${encodeURIComponent(blank)}` })
    },
  },
  'a page of a sibling subdomain': {
    origin: /^https:\/\/app\.corp\.example/,
    open: async ({ at }, page) => {
      await page.goto(at.sibling)
      return page
    },
  },
}

/** Everything that a forged request could change. */
async function state({ svc: { database } }: Sites): Promise<unknown> {
  const { prisma } = database
  return {
    users: await prisma.user.findMany(),
    sessions: await prisma.session.findMany({ select: { id: true, publicId: true, userId: true, data: true } }),
    remembered: await prisma.rememberToken.count(),
    resets: await prisma.passwordReset.count(),
    tokens: await prisma.personalAccessToken.count(),
    personalTokens: await prisma.oauthPersonalToken.count(),
    passkeys: await prisma.passkey.count(),
    social: await prisma.socialAccount.count(),
    consents: await prisma.oauthConsent.count(),
  }
}

if (hasChromium(t)) {
  t.test('changes nothing by any foreign form for a signed-in visitor', async (t) => {
    const browser = await openSitesBrowser(t)
    const settings = { session: { same_site: 'none' }, rate_limits: { login: null } }
    const sites = await startSites(t, () => settings, browser)
    const { email } = await sites.svc.createUser()
    const page = await browser.newPage()
    await signInAt(sites, page, email)
    const cookies = await identity(browser, sites)
    t.equal(Object.keys(cookies).length, 2, 'the session and its XSRF token')
    const before = await state(sites)
    const forms = await unsafeForms(sites)
    t.ok(forms.length > 40, `${forms.length} forms`)
    for (const [name, { origin, open }] of Object.entries(documents)) {
      await t.test(`of ${name}`, async (t) => {
        const from = await open(sites, page)
        sites.traffic.length = 0
        for (const { path, fields } of forms) {
          await postFormSilently(sites, from, sites.at.svc + path, fields)
          t.same(await identity(browser, sites), cookies, `POST ${path} ${fields._method ?? ''}`)
        }
        const posts = sites.traffic.filter(({ method }) => method === 'POST')
        t.equal(posts.length, forms.length, 'every form arrived')
        t.ok(
          posts.every((post) => origin.test(post.origin)),
          'with the origin of the document',
        )
        t.ok(
          posts.some(({ cookie }) => cookie.includes('svc_session=')),
          'with the cookies of the visitor',
        )
        t.same(await state(sites), before, 'nothing changed')
      })
    }
    t.equal(await signedInAt(sites, page), email)
  })
}
