import type { FastifyInstance, RouteOptions } from 'fastify'
import { abilities } from '../auth/access/abilities.ts'
import { acceptedTerms } from '../auth/access/accepted-terms.ts'
import { administrators } from '../auth/access/administrators.ts'
import { isSafeMethod } from '../auth/access/cross-site.ts'
import { csrf } from '../auth/access/csrf.ts'
import type { openCallers } from '../auth/access/find-caller.ts'
import { impersonation } from '../auth/access/impersonation.ts'
import { verifiedAddress } from '../auth/access/verified-address.ts'
import { recentAdministrator, recentPassword } from '../auth/sign-in/recent-password.ts'
import { deprecation } from '../platform/http/deprecation.ts'
import { bodyRules, isObjectBody } from '../platform/http/input.ts'
import type { openMethodRules } from '../platform/http/methods.ts'
import { methodsOf, phases, type Step } from '../platform/http/step.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Error statuses of the steps that apply to this route, for the API description. */
    stepAnswers?: readonly number[]
  }
}

interface PipelineParts {
  callers: ReturnType<typeof openCallers>
  globalLimit: Step
  routeLimit: Step
  bodyLimit: Step
  methods: Pick<ReturnType<typeof openMethodRules>, 'replayBody' | 'methodOverride'>
}

/** Fastify reads the body between `preParsing` and `preValidation`. */
const parseBody: Step = {
  name: 'parse body',
  phase: 'preParsing',
  answers: [400, 413, 415],
  hooksFor: (route) => (methodsOf(route).every(isSafeMethod) ? null : []),
}

/** Hooks that a route declares itself, for example to find the record that its path names. */
const ownHooks = (phase: Step['phase']): Step => ({
  name: `own ${phase}`,
  phase,
  answers: [],
  hooksFor: (route) => [route[phase] ?? []].flat(),
})

/** Tests whether a schema gives a type to any field, so that a request can fail it. */
const hasTypes = (schema: unknown): boolean =>
  Object.values(Object(Object(schema).properties)).some((field) => Object(field).type)

/** Fastify validates the parameters, the query and the body with the schemas of the route, after `preValidation`. */
const validateParams: Step = {
  name: 'validate parameters',
  phase: 'preValidation',
  answers: [404],
  hooksFor: ({ schema }) => (schema?.params ? [] : null),
}
const validateQuery: Step = {
  name: 'validate query',
  phase: 'preValidation',
  answers: [422],
  hooksFor: ({ schema }) => (hasTypes(schema?.querystring) ? [] : null),
}
const validateBody: Step = {
  name: 'validate body',
  phase: 'preValidation',
  answers: [422],
  hooksFor: ({ schema }) => (isObjectBody(schema?.body) ? [] : null),
}

/**
 * Every check of a request, in order; the first that fails answers. Unknown paths and methods (404, 405) come before all
 * of them. The order is a contract with clients: 401, 403 for a missing right, 400, 413 and 415,
 * 419, 429, 403 for an unverified address or terms that were not accepted, 423, and 422 last.
 */
export const pipeline = ({ callers, globalLimit, routeLimit, bodyLimit, methods }: PipelineParts): readonly Step[] => [
  // First, so that error responses have the deprecation headers too.
  deprecation,
  callers.readSession,
  callers.findCaller,
  ownHooks('onRequest'),
  globalLimit,
  // Before the body is read, which costs memory and time.
  abilities,
  administrators,

  methods.replayBody,
  ownHooks('preParsing'),
  bodyLimit,
  parseBody,

  // Before all other checks of a form, because it routes the request again under its real method.
  methods.methodOverride,
  csrf,
  // After the CSRF check, because a forged request must not use up the remember-me cookie.
  callers.resumeRemembered,
  routeLimit,
  verifiedAddress,
  acceptedTerms,
  impersonation,
  ownHooks('preValidation'),
  recentPassword,
  recentAdministrator,
  bodyRules,
  validateParams,
  validateQuery,
  validateBody,
]

/** Adds the steps to every route that is registered from now on. */
export function addPipeline(app: FastifyInstance, steps: readonly Step[]): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const applied = steps.flatMap((step) => {
      const hooks = step.hooksFor(route)
      return hooks ? [{ step, hooks }] : []
    })
    for (const phase of phases) {
      const hooks = applied.filter(({ step }) => step.phase === phase).flatMap((each) => each.hooks)
      Object.assign(route, { [phase]: hooks })
    }
    const stepAnswers = [...new Set(applied.flatMap(({ step }) => step.answers))]
    Object.assign(route, { config: { ...route.config, stepAnswers } })
  })
}
