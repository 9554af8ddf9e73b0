// engine: none
import t from 'tap'
import { changesBetween, withoutRestart } from '../../../src/platform/config/changes.ts'
import { loadConfig } from '../../../src/platform/config/load.ts'

const settingsWith = (database: string, redis = 'redis://localhost') =>
  loadConfig({
    read: () => JSON.stringify({ database: { url: database }, redis: { url: redis } }),
    env: { SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' },
  }).settings

t.test('applies new credentials in the URL of a database live, and every other change at a restart', async (t) => {
  const before = 'postgresql://svc:first@db.internal:5432/svc?sslmode=verify-full'
  for (const [url, reload] of [
    ['postgresql://svc:second@db.internal:5432/svc?sslmode=verify-full', 'live'],
    ['postgresql://other:s%40cond@db.internal:5432/svc?sslmode=verify-full', 'live'],
    ['postgresql://db.internal:5432/svc?sslmode=verify-full', 'live'],
    ['postgresql://svc:second@db.internal:5433/svc?sslmode=verify-full', 'restart'],
    ['postgresql://svc:second@db2.internal:5432/svc?sslmode=verify-full', 'restart'],
    ['postgresql://svc:second@db.internal:5432/svc?sslmode=disable', 'restart'],
    ['postgresql://svc:first@db.internal:5432/other?sslmode=verify-full', 'restart'],
    ['file:./other.db', 'restart'],
  ] as const) {
    const [old, next] = [settingsWith(before), settingsWith(url)]
    t.match(changesBetween(old, next), [{ key: 'database.url', reload, shown: null }], url)
    t.equal(withoutRestart(old, next).database.url, reload === 'live' ? url : before)
  }
  t.match(changesBetween(settingsWith('file:./a.db'), settingsWith('file:./b.db')), [{ reload: 'restart' }])
  const redis = ['redis://localhost', 'redis://:new@localhost', 'rediss://:new@localhost'] as const
  const [plain, locked, encrypted] = redis.map((url) => settingsWith('file:./a.db', url))
  if (!plain || !locked || !encrypted) return t.fail()
  t.match(changesBetween(plain, locked), [{ key: 'redis.url', reload: 'live' }])
  t.match(changesBetween(locked, encrypted), [{ key: 'redis.url', reload: 'restart' }])
})
