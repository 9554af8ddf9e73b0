import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sink } from './sink.ts'

/** Delay before another attempt to write to a full pipe, and how long to try, in milliseconds. */
const [retryEvery, giveUpAfter] = [20, 5_000]

async function writeAll(line: Buffer): Promise<void> {
  const deadline = performance.now() + giveUpAfter
  for (let at = 0; at < line.length; ) {
    try {
      at += writeSync(1, line, at)
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || performance.now() > deadline) throw error
      await sleep(retryEvery)
    }
  }
}

/** Writes lines `{"audit": …}` between those of the log. */
export const standardOutputSink: Sink = {
  async write(events) {
    for (const { json } of events) await writeAll(Buffer.from(`{"audit":${json}}\n`))
  },
  close: () => undefined,
}
