// engine: none
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { buildTestApp } from '../support/app.ts'
import { Scrape } from '../support/metrics.ts'
import { freePort } from '../support/process.ts'

const root = resolve(import.meta.dirname, '../..')

interface Panel {
  id: number
  title: string
  type: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource?: { uid: string }
  targets?: { expr: string; datasource: { uid: string } }[]
}

const dashboard: { panels: Panel[]; templating: { list: { name: string; query: unknown }[] } } = JSON.parse(
  readFileSync(join(root, 'helm/svc/dashboards/svc.json'), 'utf8'),
)
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** The expression that Prometheus receives: Grafana replaces the variables first. */
const sent = (expr: string): string => expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|instance)/g, '.*')

/** The texts of one kind of node in an expression, by the grammar of Prometheus; `⚠` marks errors. */
function parts(expr: string, kind: string): string[] {
  const found: string[] = []
  parser.parse(expr).iterate({
    enter: ({ name, from, to }) => {
      if (name === kind) found.push(expr.slice(from, to))
    },
  })
  return found
}

const manual = readFileSync(join(root, 'docs/observability.md'), 'utf8')

/** The documented metrics, with their types. */
const documented = new Map(
  [...manual.matchAll(/^\| `(svc_\w+)` +\| (\w+) +\|/gm)].map(([, name = '', type = '']) => [name, type]),
)

/** The suggested alerts; table cells escape the vertical bar. */
const [, table = ''] = manual.split('### Suggested alerts')
const alerts = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| [\w -]+ +\| `([^`]+)`/gm)].map(([, expr = '']) =>
  expr.replaceAll('\\|', '|'),
)

t.test('uses only metrics that svc exposes, in the dashboard and the documentation', async (t) => {
  const port = await freePort()
  await buildTestApp(t, { settings: { metrics: { port }, server: { host: '127.0.0.1' } } })
  const { types } = await Scrape.of(port)
  const series = new Set(
    [...types].flatMap(([name, type]) =>
      ['histogram', 'summary'].includes(type) ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
  t.ok(expressions.length > 30 && alerts.length >= 10)
  for (const expr of [...expressions, ...alerts]) {
    const names = parts(sent(expr), 'Identifier')
    t.ok(names.length > 0, expr)
    for (const name of names) t.ok(series.has(name), `svc exposes ${name}`)
  }
  const own = [...types].filter(([name]) => name.startsWith('svc_')).sort()
  t.same([...documented].sort(), own, 'every metric is documented, with its type')
  const shown = new Set(expressions.flatMap((expr) => parts(sent(expr), 'Identifier')))
  const isShown = (name: string) => [...shown].some((used) => used === name || used.startsWith(`${name}_`))
  t.same(
    own.map(([name]) => name).filter((name) => !isShown(name)),
    [],
    'and shown',
  )
})

t.test('has valid PromQL expressions and panels that do not overlap', async (t) => {
  for (const expr of [...expressions, ...alerts]) t.same(parts(sent(expr), '⚠'), [], expr)
  t.same(parts('sum by (a) (rate(b[5m])', '⚠').length, 1, 'errors are detected')
  const { panels, templating } = dashboard
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  t.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
  t.same(
    templating.list.map(({ name }) => name),
    ['datasource', 'job', 'instance'],
  )
  for (const { title, targets = [], ...panel } of panels.filter(({ type }) => type !== 'row')) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variable.
    const uid = '${datasource}'
    t.same(new Set([panel.datasource?.uid, ...targets.map(({ datasource }) => datasource.uid)]), new Set([uid]), title)
    t.ok(targets.length > 0 && panel.gridPos.x + panel.gridPos.w <= 24)
  }
  const overlap = (a: Panel['gridPos'], b: Panel['gridPos']) =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
  for (const [index, { gridPos, title }] of panels.entries()) {
    t.notOk(
      panels.slice(index + 1).some((other) => overlap(gridPos, other.gridPos)),
      title,
    )
  }
})
