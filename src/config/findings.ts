/** Where in the configuration a value stands: section, key, index … */
export type Path = readonly (string | number)[]

/** One thing found wrong, before it is known where it was written. */
export interface Finding {
  path: Path
  message: string
}

/** Collects what checks find. */
export type Report = (path: Path, message: string) => void

/** A path as one comparable text: a JSON pointer. */
export function pointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** A path as people write it: `clients[2].redirect_uris[0]`. */
export function printed(path: Path): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`
      return /^[\w-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/** Whether one path leads to the other or is the same. */
export function areRelated(first: string, second: string): boolean {
  return first === second || first.startsWith(`${second}/`) || second.startsWith(`${first}/`)
}
