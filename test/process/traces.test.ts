// engine: none
import t, { type Test } from 'tap'
import { Collector } from '../support/collector.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { freePort, runMain, startMain } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'

async function environment(t: Test, more: Record<string, string>): Promise<Record<string, string>> {
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  return { DATABASE_URL: database.url, ...more }
}

t.test('sends pending traces when the process stops', async (t) => {
  const collector = await Collector.start(t)
  const env = await environment(t, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_SERVICE_NAME: 'sign-in',
    // Longer than the test.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  })
  const svc = await startMain(t, { env })
  for (let times = 0; times < 3; times++) await sendRequest(svc.url, { url: '/health/live' })
  t.equal(collector.spans.length, 0)
  t.equal((await svc.stop()).code, 0)
  t.equal(collector.named('GET /health/live').length, 3)
  t.equal(collector.spans[0]?.resource['service.name'], 'sign-in')
})

t.test('logs that the collector is away, and delays no request', async (t) => {
  const env = await environment(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
  })
  const svc = await startMain(t, { env })
  t.equal((await sendRequest(svc.url, { url: '/health/live' })).statusCode, 200)
  const { code, stdout, stderr } = await svc.stop()
  t.same([code, stderr], [0, ''])
  t.match(stdout, /"msg":"traces: the last traces could not be sent"/)
})

t.test('rejects an invalid collector address at start', async (t) => {
  const { code, stderr } = await runMain(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'user:secret@collector:4318' } })
  t.equal(code, 78)
  t.equal(stderr, 'environment: OTEL_EXPORTER_OTLP_ENDPOINT: must be the http or https URL of a collector\n')
})

t.test('sends no traces if the standard variables of OpenTelemetry turn them off', async (t) => {
  const collector = await Collector.start(t)
  const env = await environment(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SDK_DISABLED: 'true' })
  const svc = await startMain(t, { env })
  await sendRequest(svc.url, { url: '/health/live' })
  t.equal((await svc.stop()).code, 0)
  t.equal(collector.spans.length, 0)
})
