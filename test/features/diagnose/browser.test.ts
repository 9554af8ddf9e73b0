// engine: none
import type { Page } from 'playwright-core'
import t from 'tap'
import { signInAt, startSites } from '../../support/sites.ts'

/** Fetches the diagnosis in a page, with a header that makes the browser send a preflight. */
const diagnosisIn = (page: Page, svc: string, credentials: 'include' | 'omit') =>
  page.evaluate(
    async ([url, mode]) => {
      const options = { credentials: mode, headers: { 'X-XSRF-TOKEN': 'x' } }
      const answer = await fetch(`${url}/svc/diagnose?now=${Date.now()}`, options).catch(() => null)
      return answer && ((await answer.json()) as { findings: { check: string; ok: boolean; key: string | null }[] })
    },
    [svc, credentials] as const,
  )

t.test('answers pages of untrusted origins without revealing their cookies', async (t) => {
  const sites = await startSites(t)
  const { email } = await sites.svc.createUser()
  const page = await sites.browser.newPage()
  await signInAt(sites, page, email)
  for (const origin of [sites.at.sibling, sites.at.other]) {
    await page.goto(origin)
    t.equal(await diagnosisIn(page, sites.at.svc, 'include'), null, 'the browser blocks an answer about the cookies')
    const found = await diagnosisIn(page, sites.at.svc, 'omit')
    const of = (check: string) => found?.findings.find((finding) => finding.check === check)
    t.match(of('origin'), { ok: false, key: 'stateful' })
    t.match(of('cors'), { ok: false, key: 'stateful' })
    t.match(of('cookie'), { ok: false })
    t.match(of('same_site'), { ok: origin === sites.at.sibling })
  }
})

t.test('answers a page of svc itself with its session', async (t) => {
  const sites = await startSites(t)
  const { email } = await sites.svc.createUser()
  const page = await sites.browser.newPage()
  await signInAt(sites, page, email)
  const found = await diagnosisIn(page, sites.at.svc, 'include')
  for (const check of ['origin', 'host', 'cors', 'cookie', 'session', 'csrf', 'same_site', 'cookie_domain'])
    t.match(
      found?.findings.find((finding) => finding.check === check),
      { ok: true },
      check,
    )
})
