import type {
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  preParsingHookHandler,
  preValidationAsyncHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify'

/** The hooks in which steps run, in the order in which Fastify calls them. */
export const phases = ['onRequest', 'preParsing', 'preValidation'] as const

export type StepHook =
  | onRequestHookHandler
  | onRequestAsyncHookHandler
  | preParsingHookHandler
  | preValidationHookHandler
  | preValidationAsyncHookHandler

/** One check of a request on its way to the handler. */
export interface Step {
  name: string
  phase: (typeof phases)[number]
  /** The error statuses that the step can answer with; the API description takes them from here. */
  answers: readonly number[]
  /** The step's hooks for a route: null where the route does not need the step, none where Fastify itself takes it. */
  hooksFor(route: RouteOptions): readonly StepHook[] | null
}

/** The step's hook as a list, for `hooksFor`. */
export const only = (hook: StepHook | null): readonly StepHook[] | null => hook && [hook]

/** The methods of a route, which Fastify takes as one or as a list. */
export const methodsOf = (route: RouteOptions): string[] => [route.method].flat()
