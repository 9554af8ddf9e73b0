/** Timeout of the database in milliseconds, so that a hanging database does not hide the other metrics. */
const readTimeout = 2_000

/** Returns a function that reads values of gauges in time. Concurrent callers share one read. */
export function gaugeReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return inTime(reading)
  }
}

function inTime<T>(reading: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('The database did not respond in time.')), readTimeout).unref()
  })
  return Promise.race([reading, late])
}
