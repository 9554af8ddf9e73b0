import type { Static, TSchema } from '../../json-schema.ts'
import type { Report } from '../findings.ts'
import type { NamedFormat } from '../formats.ts'

export type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value

/** What a feature's section may depend on besides itself. */
export interface AppFacts {
  readonly url: string
  readonly frontend_url: string
  readonly environment: 'development' | 'production'
}

/** The configuration of one feature. `platform/config/features.ts` lists them. */
export interface FeatureSection<Schema extends TSchema = TSchema, Value = unknown> {
  schema: Schema
  /** Formats that only this section uses. */
  formats?: readonly NamedFormat[]
  /** Derives defaults from the origins. */
  resolve(given: Static<Schema>, app: AppFacts): Value
  /** Reports problems between keys, with paths relative to the section. */
  check(value: DeepReadonly<Value>, app: AppFacts, report: Report): void
  /** How the names of the feature's cookies begin. */
  cookies?: string
}

/** Declares the configuration of one feature. */
export const featureSection = <Schema extends TSchema, Value>(
  section: FeatureSection<Schema, Value>,
): FeatureSection<Schema, Value> => section
