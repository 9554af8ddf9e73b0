import type { FastifyInstance } from 'fastify'
import type { Config } from './config/schema.ts'
import type { Database, Tx } from './database/database.ts'
import type { ErrorDescription } from './errors.ts'
import type { PagePart } from './pages/page-data.ts'
import type { TextName } from './pages/texts.ts'
import type { WayIn } from './users/ways-in.ts'

/** What a feature adds to the rest of svc, besides its routes. `app.ts` lists the features. */
export interface Feature {
  /** Signs users in without a password. */
  wayIn?: WayIn
  /** Deletes data of an account that has no foreign key to the user. */
  deleteDataOf?(tx: Tx, userId: number): Promise<void>
  /** Deletes expired rows, once a day. */
  prune?(database: Database, now: number): Promise<void>
  /** Its error codes, for `docs/errors.md`. */
  errors?: Readonly<Record<string, ErrorDescription>>
  /** Scripts of its pages: absolute path by name in `/assets/`. */
  scripts?: Readonly<Record<string, string>>
  signInPage?: SignInPageFeature
  stepUp?: StepUpFactor
}

/** Adds to the sign-in page. */
interface SignInPageFeature {
  /** `isAnew` asks for a new sign-in, although the user is signed in. */
  part(config: Config, page: { returnTo: string | null; isAnew: boolean }): PagePart
  /** Returns the text for an error code that the feature redirects to the page with. */
  alert?(code: unknown): TextName
}

/** A phishing-resistant factor that a signed-in user can prove on the step-up page. */
export interface StepUpFactor {
  /** Tests whether the user has the factor and the configuration allows it. */
  isEnrolled(app: Pick<FastifyInstance, 'database' | 'config'>, userId: number): Promise<boolean>
  part: PagePart
  /** Heading of the page if the user can prove no other factor. */
  lead: TextName
}

declare module 'fastify' {
  interface FastifyInstance {
    features: readonly Feature[]
  }
}
