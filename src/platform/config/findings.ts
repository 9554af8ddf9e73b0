/** Path of a configuration value: section, key, index and so on. */
export type Path = readonly (string | number)[]

/** A problem whose position in the file is not resolved yet. */
export interface Finding {
  path: Path
  message: string
  /** The earlier value that this one repeats. */
  first?: Path
}

/** Where a file has a value. */
export interface FoundPlace {
  line: number
  /** Null for the main file. */
  file: string | null
}

/** Returns where a value is written, or null if no file has it. */
export type PlaceOf = (path: Path) => FoundPlace | null

/** Formats a place for messages that do not name the main file. */
export const placeText = ({ file, line }: FoundPlace): string => (file === null ? `line ${line}` : `${file}:${line}`)

/** Collects the problems that checks report. */
export type Report = (path: Path, message: string, first?: Path) => void

/** Formats a path as a JSON pointer. */
export function pointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Formats a path for people: `clients[2].redirect_uris[0]`. */
export function printed(path: Path): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`
      return /^[\w-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/** Tests whether two paths are equal or one contains the other. */
export function areRelated(first: string, second: string): boolean {
  return first === second || first.startsWith(`${second}/`) || second.startsWith(`${first}/`)
}
