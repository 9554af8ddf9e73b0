/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>

interface Substitution {
  text: string
  /** Whether a variable was replaced, so that the text may be parsed as a number, flag or list. */
  changed: boolean
  problems: string[]
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g

/** Replaces `${NAME}` and `${NAME:-default}`; `$${` is a literal `${`. */
export function substitute(text: string, env: Env): Substitution {
  const problems: string[] = []
  let changed = false
  const replaced = text.replace(REFERENCE, (match: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${'
    if (name === undefined) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the message shows the syntax itself
      problems.push('invalid reference; expected ${NAME} or ${NAME:-default}, or $${ for a literal ${')
      return ''
    }
    changed = true
    const value = env[name]
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
    if (value === undefined) problems.push(`the environment variable ${name} is not set and has no default`)
    return value ?? ''
  })
  return { text: replaced, changed, problems }
}

// These characters end a plain scalar inside { } or [ ]. They are masked with private-use characters.
const MARKS = '{}[],:#'
const FIRST_STAND_IN = 0xfdd0

/** Masks characters in `${NAME:-default}` that would end a plain YAML scalar. Positions do not change. */
export function maskReferences(text: string): string {
  return text.replace(/\$\{[A-Za-z_]\w*(:-[^}\n]*)?\}/g, (reference) =>
    reference.replace(/[{}[\],:#]/g, (mark) => String.fromCharCode(FIRST_STAND_IN + MARKS.indexOf(mark))),
  )
}

/** Reverses `maskReferences`. */
export function unmaskReferences(text: string): string {
  return text.replace(/[\ufdd0-\ufdd6]/g, (standIn) => MARKS[standIn.charCodeAt(0) - FIRST_STAND_IN] ?? standIn)
}
