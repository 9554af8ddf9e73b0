/** Returns the known name that is most similar to a mistyped one, if any is close enough. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const allowed = name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))
  // Of two equally similar names, an incomplete one is more likely than a wrong letter: `api` means `apis`, not `app`.
  const completes = ({ candidate }: { candidate: string }) => Number(candidate.startsWith(name))
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((first, second) => first.distance - second.distance || completes(second) - completes(first))
  return best?.candidate
}

/** Levenshtein distance between two names. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1)
      next.push(Math.min((row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[to.length] ?? 0
}
