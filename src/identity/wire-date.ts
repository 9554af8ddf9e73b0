/** Formats ISO 8601 in UTC with six fractional digits, as Laravel does: `2026-11-20T11:32:46.000000Z`. */
export function wireDate(date: Date): string
export function wireDate(date: Date | null): string | null
export function wireDate(date: Date | null): string | null {
  return date && `${date.toISOString().slice(0, -1)}000Z`
}
