import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Visit } from '../auth/access/visit.ts'
import type { AccountHooks } from '../auth/accounts.ts'
import type { TokenProof } from '../auth/tokens/first-factor.ts'
import type { User } from '../identity/user.ts'
import type { AccountSections } from '../pages/account/account-pages.ts'
import type { AccountStates } from '../pages/account-page-data.ts'
import type { PagePart } from '../pages/page-part.ts'
import type { TextName } from '../pages/texts.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { Config } from '../platform/config/schema.ts'
import type { Database } from '../platform/database/database.ts'
import type { ErrorDescription } from '../platform/errors.ts'
import { type EventSubscriber, joined } from '../platform/jobs/event-subscriber.ts'
import type { Outbox } from '../platform/jobs/outbox.ts'
import type { RecurringJob } from '../platform/jobs/schedule.ts'
import type { Metrics } from '../platform/observability/metrics/metrics.ts'
import type { Command } from './command.ts'

/** Everything that a feature adds to svc. `app/feature-list.ts` lists the features. */
export interface Feature extends AccountHooks, AccountSections {
  /** Whether the configuration turns it on at start. Default: always. */
  isOn?(config: Config): boolean
  /** Adds hooks that run before all others of the server. */
  firstHooks?(app: FastifyInstance): Promise<void>
  /** Decorates the server with what routes use, before any route is added. */
  services?(app: FastifyInstance): Promise<void>
  /** Its routes. Commands read the list of features too, and do not load them. */
  routes?: readonly (() => Promise<{ default: FastifyPluginAsync | FastifyPluginAsyncTypebox }>)[]
  /** Its commands. */
  commands?(): Promise<readonly Command[]>
  /** Queues messages about recorded events, in their transactions. */
  eventSubscriber?(parts: SubscriberParts): EventSubscriber
  /** Recurring jobs, which run on one replica at a time. */
  jobs?(app: FastifyInstance): readonly RecurringJob[]
  /** Adds gauges, which are read on each scrape. */
  gauges?(app: FastifyInstance, metrics: Metrics): Promise<void> | void
  /** A first factor that `POST /svc/token` accepts in place of the password. */
  tokenProof?(): Promise<TokenProof>
  /** Deletes expired rows, once a day. */
  prune?(database: Database, now: number): Promise<unknown>
  /** What the overview of the account pages says about the sections of the signed-in user. */
  accountStates?(visit: Visit, user: User): Promise<AccountStates>
  /** Its error codes, for `docs/errors.md`. */
  errors?: Readonly<Record<string, ErrorDescription>>
  /** Scripts of its pages: absolute path by the name under which svc serves it. */
  scripts?: Readonly<Record<string, string>>
  signInPage?: SignInPageFeature
  /** Adds another way to register to the registration page. */
  registrationPage?(config: Config, page: { returnTo: string | null }): PagePart
  invitationPage?: InvitationPageFeature
  /** Adds another way to prove the second factor of a user to the page that asks for a code. */
  challengePage?(app: Pick<FastifyInstance, 'config' | 'database'>, userId: number): Promise<PagePart>
  /** Adds another way to confirm a user without a password to the confirmation page. */
  confirmationPage?(app: Pick<FastifyInstance, 'config' | 'database'>, userId: number): Promise<PagePart>
  stepUp?: StepUpFactor
  /** The data of the user for the data export, by name. Contains no secrets and no hashes of secrets. */
  exportData?(app: FastifyInstance, userId: number): Promise<Readonly<Record<string, unknown>>>
  offers?: readonly Offer[]
}

interface SubscriberParts {
  config: CurrentConfig
  outbox: Pick<Outbox, 'add'>
}

/** Joins the subscribers of features. */
export const subscriberOf = (features: readonly Feature[], parts: SubscriberParts): EventSubscriber =>
  joined(features.flatMap((feature) => feature.eventSubscriber?.(parts) ?? []))

/** What svc offers a signed-in user on the start page. */
interface Offer {
  /** Cookie that marks browsers which showed the offer, so that each shows it once. Null: svc asks `isFor` each time. */
  cookie: string | null
  isFor(visit: Visit): Promise<boolean>
  part: PagePart
}

/** Adds to the sign-in page. */
interface SignInPageFeature {
  /** `isReauthentication`: the user is signed in and must sign in again. */
  part(config: Config, page: { returnTo: string | null; isReauthentication: boolean }): PagePart
  /** Tests whether this browser signed in this way before. The page then shows the part above the form. */
  isPreferred?(visit: Visit): boolean
  /** Returns the text for an error code that the feature redirects to the page with. */
  alert?(code: unknown): TextName
}

/** Adds another way to accept an invitation to its page. */
interface InvitationPageFeature {
  /** `action` is the path of the invitation. */
  part(config: Config, page: { action: string }): PagePart
  /** Returns the text for an error code that the feature redirects to the page with; null for other codes. */
  alert?(code: unknown): TextName | null
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
