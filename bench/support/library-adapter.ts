import type { Adapter, AdapterPayload } from 'oidc-provider'
import pg from 'pg'

/** The table of the adapter, in the form of the adapters that the documentation of the library shows. */
const schema = `CREATE TABLE IF NOT EXISTS library_records (
  id text PRIMARY KEY, payload jsonb NOT NULL, grant_id text, uid text, user_code text, expires_at timestamptz,
  consumed_at timestamptz);
CREATE INDEX IF NOT EXISTS library_grants ON library_records (grant_id);
CREATE INDEX IF NOT EXISTS library_uids ON library_records (uid);
CREATE INDEX IF NOT EXISTS library_user_codes ON library_records (user_code)`

/** Opens a store of the library in PostgreSQL: one prepared statement for each call, as durable as that of svc. */
export async function postgresqlStore(url: string): Promise<(model: string) => Adapter> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query(schema)
  const run = async (name: string, text: string, values: unknown[]) => (await pool.query({ name, text, values })).rows
  return (model) => {
    const key = (id: string) => `${model}:${id}`
    const findBy = async (column: 'id' | 'uid' | 'user_code', value: string): Promise<AdapterPayload | undefined> => {
      const text = `SELECT payload, extract(epoch FROM consumed_at) AS consumed FROM library_records
        WHERE ${column} = $1 AND (expires_at IS NULL OR expires_at > now())`
      const [row] = await run(`find-${column}`, text, [value])
      return row && { ...row.payload, ...(row.consumed === null ? {} : { consumed: Math.floor(Number(row.consumed)) }) }
    }
    return {
      async upsert(id, payload, expiresIn) {
        const text = `INSERT INTO library_records (id, payload, grant_id, uid, user_code, expires_at)
          VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')
          ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
            user_code = excluded.user_code, expires_at = excluded.expires_at`
        const { grantId = null, uid = null, userCode = null } = payload
        await run('upsert', text, [key(id), payload, grantId, uid, userCode, expiresIn || null])
      },
      find: (id) => findBy('id', key(id)),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('user_code', code),
      async consume(id) {
        await run('consume', 'UPDATE library_records SET consumed_at = now() WHERE id = $1', [key(id)])
      },
      async destroy(id) {
        await run('destroy', 'DELETE FROM library_records WHERE id = $1', [key(id)])
      },
      async revokeByGrantId(grantId) {
        await run('revoke', 'DELETE FROM library_records WHERE grant_id = $1', [grantId])
      },
    }
  }
}
