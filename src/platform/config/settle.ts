import { fileReason } from './file-reason.ts'
import { type Finding, pointer } from './findings.ts'
import { isMapping, mapValue, type Schema, typesOf } from './walk.ts'

interface Settled {
  value: unknown
  findings: Finding[]
}

/** Replaces `{ file: … }` by the file's content, and converts substituted texts to the types of the schema. */
export function settle(
  raw: unknown,
  schema: Schema,
  isSubstituted: (pointer: string) => boolean,
  read: (file: string) => string,
): Settled {
  const findings: Finding[] = []
  const value = mapValue(raw, schema, (part, partSchema, path) => {
    if (typeof part === 'string' && isSubstituted(pointer(path))) return settleText(part, partSchema)
    if (!partSchema['x-svc-fileable'] || !isMapping(part) || Object.keys(part).length !== 1) return part
    if (typeof part.file !== 'string' || part.file === '') return part
    try {
      return contentOf(read(part.file).replace(/\r?\n$/, ''), partSchema)
    } catch (error) {
      findings.push({ path, message: `the file ${part.file} cannot be read (${fileReason(error)})` })
      return ''
    }
  })
  return { value, findings }
}

/** The content of a file: several values, separated by commas, where the schema allows a list of secrets. */
function contentOf(text: string, schema: Schema): string | string[] {
  return typesOf(schema).includes('array') && text.includes(',') ? listOf(text) : text
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Environment variables are text; parse them where the schema expects another type. */
function settleText(text: string, schema: Schema): unknown {
  const types = typesOf(schema)
  const values = schema.enum ?? []
  if (types.includes('null') && (text === '' || text === 'null')) return null
  if ((types.includes('boolean') || values.includes(true)) && (text === 'true' || text === 'false'))
    return text === 'true'
  const wantsNumber = types.includes('integer') || values.some((value) => typeof value === 'number')
  if (wantsNumber && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (types.includes('array') && !types.includes('string')) return listOf(text)
  return text
}
