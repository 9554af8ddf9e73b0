import type { Report } from './findings.ts'
import type { NamedFormat } from './formats.ts'
import type { AppFacts, DeepReadonly, FeatureSection } from './sections/feature-section.ts'
import { mobileApps } from './sections/mobile-apps.ts'
import { passkeys } from './sections/passkeys.ts'
import { social } from './sections/social.ts'

/** Features that have a section of their own, by its name. */
const features = { passkeys, mobile_apps: mobileApps, social }

type Features = typeof features
type Name = keyof Features
type Schemas = { [Key in Name]: Features[Key]['schema'] }

/** Values of these sections in the snapshot. */
export type FeatureValues = { [Key in Name]: ReturnType<Features[Key]['resolve']> }

const entries: readonly [string, FeatureSection][] = Object.entries(features)

/** Schemas of the sections. Sound: each key of the object has the schema of its feature. */
export const featureSchemas = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])) as Schemas

/** Formats that the sections declare. */
export const featureFormats: readonly NamedFormat[] = entries.flatMap(([, { formats = [] }]) => formats)

/** How the names of the features' cookies begin. */
export const featureCookies: readonly string[] = entries.flatMap(([, { cookies }]) => cookies ?? [])

/** Derives the values of the sections. Sound: each section resolves its own key. */
export const resolveFeatures = (settings: Record<Name, unknown>, app: AppFacts) =>
  Object.fromEntries(
    entries.map(([name, section]) => [name, section.resolve(settings[name as Name], app)]),
  ) as FeatureValues

/** Reports the problems within the sections. */
export function checkFeatures(config: DeepReadonly<FeatureValues> & { app: AppFacts }, report: Report): void {
  for (const [name, section] of entries)
    section.check(config[name as Name], config.app, (path, message) => report([name, ...path], message))
}
