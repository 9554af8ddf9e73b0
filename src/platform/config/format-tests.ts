import { featureFormats } from './features.ts'
import { formats, type NamedFormat } from './formats.ts'
import { guardFormats } from './sections/guard.ts'

const named: readonly NamedFormat[] = [...featureFormats, ...guardFormats]

/** Tests a text for each format of the schema, by name. */
export const formatTests: Readonly<Record<string, (text: string) => boolean>> = {
  ...Object.fromEntries(Object.entries(formats).map(([name, { matches }]) => [name, matches])),
  ...Object.fromEntries(named.map(({ name, matches }) => [name, matches])),
}
