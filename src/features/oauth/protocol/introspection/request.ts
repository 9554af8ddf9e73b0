import type { AskedTokens } from '../browser.ts'

/** Maximum number of tokens in one request. */
export const maxTokens = 100

/** Maximum body size in bytes: 100 access tokens with many claims. */
export const maxIntrospectionSize = 256 * 1024

/** Introspection request: its tokens, and the fields that authenticate the client. */
interface IntrospectionRequest {
  asked: AskedTokens
  fields: URLSearchParams
}

const listName = 'tokens[]'

/** Other spellings of a list, which servers read differently. */
const looksLikeList = /^\s*tokens?\s*[[.\]]|^\s*tokens\s*$/i

const howToList = 'For several tokens, repeat the parameter tokens[] or send a JSON array tokens.'

/** Separates the tokens of a form from its other fields. */
export function readIntrospection(form: string): IntrospectionRequest {
  const fields = new URLSearchParams(form)
  const single = fields.getAll('token')
  const list = fields.getAll(listName)
  const odd = [...fields.keys()].find((name) => name !== listName && looksLikeList.test(name))
  fields.delete('token')
  fields.delete(listName)
  return { asked: askedOf(single, list, odd), fields }
}

function askedOf(single: readonly string[], list: readonly string[], odd: string | undefined): AskedTokens {
  const [token] = single
  if (odd !== undefined) return { error: `Unknown parameter that looks like a list of tokens. ${howToList}` }
  if (single.length > 0 && list.length > 0) return { error: 'Send either token or tokens[].' }
  if (list.length > maxTokens)
    return { error: `tokens[] must have at most ${maxTokens} values (found ${list.length}).` }
  if (list.length > 0) return { texts: list, isList: true }
  if (single.length > 1) return { error: `token parameter must not be provided twice. ${howToList}` }
  if (!token) return { error: "missing required parameter 'token'" }
  return { texts: [token], isList: false }
}
