import { type Static, Type } from '../json-schema.ts'
import type { Language } from '../languages/languages.ts'
import { type FeatureValues, featureSchemas } from './features.ts'
import type { FoundPlace } from './findings.ts'
import { accessSections } from './sections/access.ts'
import { accountSections } from './sections/accounts.ts'
import { adminSections } from './sections/admin.ts'
import { appearanceSections } from './sections/appearance.ts'
import { claimSections } from './sections/claims.ts'
import type { DeepReadonly } from './sections/feature-section.ts'
import { fileSections } from './sections/files.ts'
import { groupSections } from './sections/groups.ts'
import { hookSections } from './sections/hooks.ts'
import { oauthSections } from './sections/oauth.ts'
import { operationSections } from './sections/operation.ts'
import { serverSections } from './sections/server.ts'
import { signalSections } from './sections/shared-signals.ts'
import { termsSections } from './sections/terms.ts'
import { userSections } from './sections/users.ts'
import type { Schema } from './walk.ts'

/** Schema of the configuration file: the source of validation, defaults, types and editor hints. */
export const configSchema = Type.Object(
  {
    ...fileSections,
    ...serverSections,
    ...accessSections,
    ...accountSections,
    ...userSections,
    ...termsSections,
    ...groupSections,
    ...appearanceSections,
    ...oauthSections,
    ...claimSections,
    ...hookSections,
    ...featureSchemas,
    ...operationSections,
    ...signalSections,
    ...adminSections,
  },
  { additionalProperties: false, title: 'svc', description: 'The configuration of svc.' },
)

/** The same schema, typed for walking. */
export const rootSchema = configSchema as unknown as Schema

/** Validated values of the file, with durations in milliseconds, before anything is derived. */
export type Settings = Static<typeof configSchema>

type Override<Base, Changes> = Omit<Base, keyof Changes> & Changes

interface Derived extends FeatureValues {
  app: Override<
    Settings['app'],
    {
      frontend_url: string
      /** Empty only in development. */
      secret: string[]
      environment: 'development' | 'production'
    }
  >
  database: Override<
    Settings['database'],
    { engine: 'sqlite' | 'postgresql' /** Absolute; null with PostgreSQL. */; file: string | null }
  >
  i18n: Override<
    Settings['i18n'],
    {
      /** Every text of the operator, by language. */
      messages: Partial<Record<Language, Record<string, string>>>
      /** The texts in `i18n.messages` of the file. */
      given: Readonly<Record<string, Readonly<Record<string, string>>>>
    }
  >
  session: Override<Settings['session'], { secure: boolean }>
  clients: Override<Settings['clients'][number], { name: string; cors_origins: string[] }>[]
  oauth: Override<Settings['oauth'], { audience: string }>
  guard: Override<
    Settings['guard'],
    {
      diagnose: boolean
      rules: (Settings['guard']['rules'][number] & { place: FoundPlace | null })[]
    }
  >
  samples: boolean
  test_page: boolean
}

/** Frozen snapshot of the whole configuration, with all defaults and derived values. */
export type Config = DeepReadonly<Override<Settings, Derived>>
