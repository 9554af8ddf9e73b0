import type Provider from 'oidc-provider'

type Use = Parameters<Provider['use']>[0]

// Method of the library, with the types that its caller declares. Most methods are missing from the library's types.
type Method = (...args: never[]) => unknown

/** Change of oidc-provider. */
export interface Patch {
  /** Place in the provider: a class such as `Session`, a prototype such as `Session.prototype`, or `answer`. */
  target: string
  /** The replaced method or getter; for an answer, the middleware. */
  name: string
  /** Why svc replaces it. */
  why: string
}

const patches = new WeakMap<Provider, Patch[]>()

/** All changes of a provider, in order. */
export const patchesOf = (provider: Provider): readonly Patch[] => patches.get(provider) ?? []

/**
 * Replaces a method or a getter of the library with the result of `wrap`. Throws if the library no longer has it. The
 * original of a static method is bound to its class.
 */
export function patch<Original extends Method>(
  provider: Provider,
  [target, name]: readonly [target: string, name: string],
  why: string,
  wrap: (original: Original) => Method,
): void {
  const owner = ownerOf(provider, target)
  const found = owner && descriptorOf(owner, name)
  const original: unknown = found?.get ?? found?.value
  if (!owner || typeof original !== 'function') {
    throw new Error(
      `oidc-provider has no ${target}.${name}, which svc replaces (${why}). Adapt the patch to its new version.`,
    )
  }
  const wrapped = wrap((typeof owner === 'function' && !found?.get ? original.bind(owner) : original) as Original)
  const place = found?.get ? { get: wrapped } : { value: wrapped, writable: true }
  Object.defineProperty(owner, name, { configurable: true, ...place })
  record(provider, { target, name, why })
}

/** Adds a middleware that runs before the library or changes its response. */
export function patchAnswer(provider: Provider, name: string, why: string, middleware: Use): void {
  provider.use(middleware)
  record(provider, { target: 'answer', name, why })
}

function record(provider: Provider, entry: Patch): void {
  patches.set(provider, [...patchesOf(provider), entry])
}

function ownerOf(provider: Provider, target: string): object | null {
  let owner: unknown = provider
  for (const step of target.split('.')) owner = isObject(owner) ? Reflect.get(owner, step) : undefined
  return isObject(owner) ? owner : null
}

const isObject = (value: unknown): value is object =>
  typeof value === 'function' || (typeof value === 'object' && value !== null)

/** Own or inherited property of an object. */
function descriptorOf(owner: object, name: string): PropertyDescriptor | undefined {
  for (let place: object | null = owner; place; place = Object.getPrototypeOf(place)) {
    const found = Object.getOwnPropertyDescriptor(place, name)
    if (found) return found
  }
  return undefined
}
