/** Generates short ids, unique across replicas and never taken from the client. */
export function requestIds(): () => string {
  const prefix = Math.random().toString(36).slice(2, 8)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}
