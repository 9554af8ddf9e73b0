// engine: none
// lane: all
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { guideTools, hasRuntimes } from '../guides/tools.ts'
import { startWithAda } from '../support/listening.ts'
import { secret } from '../support/oauth.ts'

const tools = guideTools()
const missing = 'THE PACKAGES FOR PYTHON ARE NOT INSTALLED (npm run guides:tools): SCIM2-TESTER DID NOT RUN'
if (!tools) {
  process.stderr.write(`*** ${missing} ***\n`)
  t.notOk(process.env.CI && hasRuntimes(), missing)
}

t.test('passes all checks of scim2-tester', { skip: !tools && missing }, async (t) => {
  const client = {
    client_id: 'tester',
    type: 'confidential',
    secret,
    grants: ['client_credentials'],
    scopes: ['svc:scim'],
  }
  const svc = await startWithAda(t, {}, { clients: [client], rate_limits: { admin: null } })
  const answer = await fetch(`${svc.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`tester:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'svc:scim' }),
  })
  const { access_token } = JSON.parse(await answer.text())
  const { PATH = '' } = process.env
  const env = { PATH, SCIM_URL: `${svc.url}/scim/v2`, SCIM_TOKEN: access_token, PYTHONDONTWRITEBYTECODE: '1' }
  const ended = spawnSync(tools?.python ?? '', [join(import.meta.dirname, 'scim_tester.py')], { env, encoding: 'utf8' })
  t.comment(ended.stdout)
  t.equal(ended.status, 0, ended.stdout + ended.stderr)
  t.match(ended.stdout, /\d{2,} results, 0 failed/)
  await svc.stop()
})
