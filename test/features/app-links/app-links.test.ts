// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

const apple = '/.well-known/apple-app-site-association'
const google = '/.well-known/assetlinks.json'
const ios = ['ABCDE12345.com.example.app', 'ABCDE12345.com.example.beta']
const fingerprint = Array(32).fill('ab').join(':')
const other = Array(32).fill('01').join(':')
const android = [
  { package: 'com.example.app', sha256_cert_fingerprints: [fingerprint, fingerprint.toUpperCase(), other] },
  { package: 'com.example.beta', sha256_cert_fingerprints: [other] },
]

t.test('answers 404 for a platform without apps', async (t) => {
  const svc = await buildTestApp(t)
  for (const url of [apple, google]) {
    const answer = await svc.app.inject(url)
    t.equal(answer.statusCode, 404)
    t.strictSame(answer.json(), { message: 'Not found.', code: 'not_found' })
    t.notMatch(answer.headers['cache-control'] ?? '', 'public')
  }
})

t.test('serves the file for iOS with the passkeys and links of the apps', async (t) => {
  const svc = await buildTestApp(t, { settings: { mobile_apps: { ios } } })
  const answer = await svc.app.inject(apple)
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), { webcredentials: { apps: ios } })
  t.match(answer.headers['content-type'], /^application\/json\b/)
  t.equal(answer.headers['cache-control'], 'public, max-age=3600')
  t.equal(answer.headers['set-cookie'], undefined)
  t.equal((await svc.app.inject(google)).statusCode, 404)

  const linking = await buildTestApp(t, { settings: { mobile_apps: { ios, link_paths: ['/app/*', '/callback'] } } })
  t.strictSame((await linking.app.inject(apple)).json(), {
    applinks: { details: [{ appIDs: ios, components: [{ '/': '/app/*' }, { '/': '/callback' }] }] },
    webcredentials: { apps: ios },
  })
})

t.test('serves the file for Android with upper-case fingerprints', async (t) => {
  const svc = await buildTestApp(t, { settings: { mobile_apps: { android } } })
  const answer = await svc.app.inject(google)
  t.equal(answer.statusCode, 200)
  const relation = ['delegate_permission/common.get_login_creds']
  const target = (package_name: string, sha256_cert_fingerprints: string[]) => ({
    namespace: 'android_app',
    package_name,
    sha256_cert_fingerprints,
  })
  const targets = [target('com.example.app', [fingerprint.toUpperCase(), other]), target('com.example.beta', [other])]
  t.strictSame(
    answer.json(),
    targets.map((each) => ({ relation, target: each })),
  )
  t.match(answer.headers['content-type'], /^application\/json\b/)
  t.equal(answer.headers['cache-control'], 'public, max-age=3600')

  const linking = await buildTestApp(t, { settings: { mobile_apps: { android, link_paths: ['/app/*'] } } })
  const links = [...relation, 'delegate_permission/common.handle_all_urls']
  for (const each of (await linking.app.inject(google)).json()) t.strictSame(each.relation, links)
})

t.test('never redirects: not for browsers, other hosts or strict cookies', async (t) => {
  const settings = { mobile_apps: { ios, android }, session: { same_site: 'strict' } }
  const svc = await buildTestApp(t, { settings })
  for (const url of [apple, google]) {
    for (const headers of [
      { accept: 'text/html', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      { host: 'example.com', 'x-forwarded-proto': 'http' },
      { accept: '*/*' },
    ]) {
      const answer = await svc.app.inject({ url, headers })
      t.equal(answer.statusCode, 200, JSON.stringify(headers))
      t.match(answer.headers['content-type'], /^application\/json\b/)
      t.equal(answer.headers.location, undefined)
    }
    t.equal((await svc.app.inject({ method: 'HEAD', url })).statusCode, 200)
  }
})
