import type {
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  preParsingHookHandler,
  preValidationAsyncHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify'

/** Hooks in which steps run, in Fastify's order. */
export const phases = ['onRequest', 'preParsing', 'preValidation'] as const

export type StepHook =
  | onRequestHookHandler
  | onRequestAsyncHookHandler
  | preParsingHookHandler
  | preValidationHookHandler
  | preValidationAsyncHookHandler

/** A check that a request passes before its handler. */
export interface Step {
  name: string
  phase: (typeof phases)[number]
  /** Error statuses of this step, for the API description. */
  answers: readonly number[]
  /** Returns the step's hooks for a route: null if the route does not need the step, empty if Fastify performs it. */
  hooksFor(route: RouteOptions): readonly StepHook[] | null
}

/** Wraps the hook of a step for `hooksFor`. */
export const only = (hook: StepHook | null): readonly StepHook[] | null => hook && [hook]

/** Returns the methods of a route as a list. */
export const methodsOf = (route: RouteOptions): string[] => [route.method].flat()
