// engine: none
// process: own
import t from 'tap'
import { features } from '../../src/app/feature-list.ts'
import type { Feature } from '../../src/contract/feature.ts'
import { buildTestApp } from '../support/app.ts'

t.test('describes the same API when the features are listed in another order', async (t) => {
  const describe = async () => {
    const svc = await buildTestApp(t, { settings: { login: { email_code: true }, samples: true, test_page: true } })
    const { paths, components } = (await svc.app.inject('/openapi.json')).json()
    return { paths, components }
  }
  const expected = await describe()
  t.ok(Object.keys(expected.paths).length > 100)
  const list = features as Feature[]
  list.reverse()
  t.same(await describe(), expected)
})
