import pg from 'pg'

/** A statement that svc sent to PostgreSQL, with the parameters of its last run. */
export interface SentStatement {
  text: string
  values: unknown[]
  /** The maximum number of rows that it returned or changed. */
  rows: number
}

interface Query {
  text: string
  values?: unknown[]
}

/** Records each statement that this process sends, until the returned function ends it. */
export function recordStatements(): () => SentStatement[] {
  const sent = new Map<string, SentStatement>()
  const original = pg.Client.prototype.query
  const note = (text: string, values: unknown[], rows: number) =>
    sent.set(text, { text, values, rows: Math.max(rows, sent.get(text)?.rows ?? 0) })
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, second] = args as [string | Query, unknown[] | undefined]
    const { text, values = [] } = typeof first === 'string' ? { text: first, values: second ?? [] } : first
    const finish = (result?: pg.QueryResult) => note(text, values, result?.rowCount ?? 0)
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      const answered = (error: unknown, result?: pg.QueryResult) => {
        finish(result)
        callback(error, result)
      }
      return Reflect.apply(original, this, [...args.slice(0, -1), answered])
    }
    const answer = Reflect.apply(original, this, args)
    if (answer instanceof Promise) answer.then(finish, () => finish())
    return answer
  } as typeof original
  return () => {
    pg.Client.prototype.query = original
    return [...sent.values()].filter(({ text }) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text))
  }
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Rows that the plan reads from tables, also those that it then filters out. */
function rowsRead(plan: Plan): number {
  const inner = (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0)
  if (!/Scan$/.test(plan['Node Type']) || plan['Node Type'] === 'Bitmap Index Scan') return inner
  const filtered = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  return inner + (plan['Actual Rows'] + filtered) * plan['Actual Loops']
}

/** Runs a statement and takes its changes back. Returns how many rows it read. */
export async function rowsReadBy(client: pg.Client, { text, values }: SentStatement): Promise<number> {
  await client.query('BEGIN')
  try {
    // Small tables are read whole where an index would serve a large one.
    await client.query('SET LOCAL enable_seqscan = off; SET LOCAL session_replication_role = replica')
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    return rowsRead(rows[0]['QUERY PLAN'][0].Plan)
  } catch (error) {
    // The row that it inserted exists.
    if ((error as pg.DatabaseError).code === '23505') return 0
    throw error
  } finally {
    await client.query('ROLLBACK')
  }
}
