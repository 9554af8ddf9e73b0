import { readFileSync, writeFileSync } from 'node:fs'

/** The part of a changelog about one version. */
interface Notes {
  writeTo(file: string): void
}

/**
 * Returns the notes of a version: its section of the changelog, or the section of what is not released yet, if the version has
 * none. Throws if both are missing or empty.
 */
export function notesOf(changelog: string, version: string): Notes {
  const sections = sectionsOf(readFileSync(changelog, 'utf8'))
  const text = sections.get(version) ?? sections.get('Unreleased') ?? ''
  if (text === '') throw new Error(`${changelog} has no section for ${version}, and nothing under "Unreleased".`)
  return { writeTo: (file) => writeFileSync(file, `# svc ${version}\n\n${text}\n`) }
}

/** Sections by the name in brackets, such as `## [1.0.0] - 2026-12-01`. */
function sectionsOf(text: string): Map<string, string> {
  const parts = text.split(/^## \[([^\]]+)\].*$/m).slice(1)
  const names = parts.filter((_part, index) => index % 2 === 0)
  return new Map(names.map((name, index) => [name, parts[2 * index + 1]?.trim() ?? '']))
}

/** Names the section of what is not released yet after a version, and begins a new one. */
export function closeUnreleased(text: string, version: string, day: string): string {
  return text.replace(/^## \[Unreleased\]$/m, `## [Unreleased]\n\n## [${version}] - ${day}`)
}
