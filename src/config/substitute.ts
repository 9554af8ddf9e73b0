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
      problems.push(
        '${ must be followed by a name and }, as in ${NAME} or ${NAME:-default}; write $${ for the text itself',
      )
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
