// lane: all
import t from 'tap'
import { startWithAda } from '../support/listening.ts'
import { startMain } from '../support/process.ts'
import { until } from '../support/until.ts'
import { isLongRun, Writers, writer } from './writers.ts'

const kills = isLongRun ? 20 : 3

t.test(`loses no acknowledged write in ${kills} kills under load`, async (t) => {
  const first = await startWithAda(t)
  const { cwd, env } = first
  const writers = await Writers.signIn(first.url, [writer.email])
  let svc = first
  for (let kill = 1; kill <= kills; kill++) {
    const wanted = writers.acknowledged + 100 + Math.floor(Math.random() * 200)
    writers.start(8)
    await until(() => writers.acknowledged >= wanted)
    svc.child.kill('SIGKILL')
    await svc.ended
    await writers.stop()
    t.ok(writers.unanswered > 0, 'some requests were pending')
    svc = await startMain(t, { cwd, env })
    await writers.check(t)
  }
  t.same(writers.flaws, [])
  t.equal((await svc.stop()).code, 0)
})
