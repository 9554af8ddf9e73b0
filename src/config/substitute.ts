/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>

interface Substitution {
  text: string
  /** Whether anything was put in, so that the text may stand for a number, a flag or a list. */
  changed: boolean
  problems: string[]
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g

/** Replaces `${NAME}` and `${NAME:-default}`; `$${` stands for a literal `${`. */
export function substitute(text: string, env: Env): Substitution {
  const problems: string[] = []
  let changed = false
  const replaced = text.replace(REFERENCE, (match: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${'
    if (name === undefined) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the message shows the syntax itself
      problems.push('${ must be followed by a name and }, as in ${NAME} or ${NAME:-default}; $${ is a plain ${')
      return ''
    }
    changed = true
    const value = env[name]
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
    if (value === undefined) problems.push(`the environment variable ${name} is not set, and there is no default`)
    return value ?? ''
  })
  return { text: replaced, changed, problems }
}

// YAML would end an unquoted text inside { } or [ ] at these. Unicode reserves the stand-ins for a program's own use.
const MARKS = '{}[],:#'
const FIRST_STAND_IN = 0xfdd0

/** Hides from the YAML parser what would keep `${NAME}` from standing unquoted anywhere; every position stays. */
export function maskReferences(text: string): string {
  return text.replace(/\$\{[A-Za-z_]\w*(:-[^}\n]*)?\}/g, (reference) =>
    reference.replace(/[{}[\],:#]/g, (mark) => String.fromCharCode(FIRST_STAND_IN + MARKS.indexOf(mark))),
  )
}

/** Undoes `maskReferences`. */
export function unmaskReferences(text: string): string {
  return text.replace(/[\ufdd0-\ufdd6]/g, (standIn) => MARKS[standIn.charCodeAt(0) - FIRST_STAND_IN] ?? standIn)
}
