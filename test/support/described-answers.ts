import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { openApiPath } from './routes.ts'

/** A response as the client gets it. */
export interface Answer {
  method: string
  /** The path of the route. */
  path: string
  status: number
  headers: Readonly<Record<string, unknown>>
  body: () => string
}

type Json = Record<string, unknown>

interface Response {
  headers?: Record<string, { schema: object }>
  content?: Record<string, { schema: object }>
}

/** The parts of an API description that describe answers. */
export interface Description {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>
  components: Json
}

/** Headers that any response may have: of HTTP, cookies, bound sessions, CORS, limits and pages. */
const commonHeaders =
  /^(access-control-.*|cache-control|connection|content-(language|length|security-policy|type)|cross-origin-.*|date|deprecation|keep-alive|link|origin-agent-cluster|permissions-policy|pragma|referrer-policy|secure-session-(challenge|registration)|set-cookie|strict-transport-security|sunset|transfer-encoding|vary|x-(content-type-options|dns-prefetch-control|download-options|frame-options|permitted-cross-domain-policies|ratelimit-(limit|remaining)|xss-protection))$/

const mediaTypeOf = (headers: Answer['headers']): string =>
  String(headers['content-type'] ?? '')
    .split(';')[0]
    ?.trim() ?? ''

/** The operation, status and media type of an answer. */
export const nameOf = ({ method, path, status, headers }: Answer): string =>
  `${method} ${openApiPath(path)} ${status} ${mediaTypeOf(headers)}`.trimEnd()

/** Errors that every request can get, which operations do not repeat: see the introduction of the description. */
const isEverywhere = (status: number, body: string): boolean =>
  (status === 500 && /"server_error"|^<!doctype html>/.test(body)) ||
  (status === 405 && body.includes('"method_not_allowed"')) ||
  (status === 400 && /"malformed_body"|body cannot be read|body is invalid|exactly one Host header/.test(body))

/** The responses that an API description allows. */
export class DescribedAnswers {
  readonly #description: Description
  readonly #ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false })
  readonly #validators = new Map<object, ValidateFunction>()
  readonly #responses = new Map<object, Response>()

  constructor(description: Description) {
    this.#description = description
    addFormats.default(this.#ajv)
  }

  /** Everything about the answer that its operation does not describe. Hidden routes describe nothing. */
  violations({ method, path, status, headers, body }: Answer): string[] {
    const name = `${method} ${openApiPath(path)} ${status}`
    const methods = this.#description.paths[openApiPath(path)] ?? {}
    const operation = methods[method.toLowerCase()] ?? (method === 'HEAD' ? methods.get : undefined)
    if (!operation) return []
    const response = this.#responseOf(operation.responses[status])
    // With strict cookies, a redirect that another site links to reloads itself first: `access/strict-cookies.ts`.
    if (status === 200 && body().startsWith('<!doctype html><meta http-equiv="refresh"')) return []
    // A browser kept the cookie of a bound session for too long: `access/find-caller.ts`.
    if (status === 307 && String(headers.location).split('?')[0] === path) return []
    // A response to HEAD has no body to tell.
    const isUnnamed = method === 'HEAD' && [400, 405, 500].includes(status)
    if (!response && (isUnnamed || isEverywhere(status, body()))) return []
    // Browsers that open the address of any operation get its errors as pages.
    if (response && status >= 400 && method === 'GET' && mediaTypeOf(headers) === 'text/html') return []
    if (!response) return [`${name} is not described: ${body().slice(0, 200)}`]
    return [
      // The operator names the headers for services behind the guard.
      ...(path.endsWith('/guard') ? [] : this.#headerViolations(response, headers)),
      // Some redirects have a body, which clients never read.
      ...(method === 'HEAD' || (status >= 300 && status < 400) ? [] : this.#bodyViolations(response, headers, body())),
    ].map((violation) => `${name}: ${violation}`)
  }

  #responseOf(described: object | undefined): Response | undefined {
    if (!described) return undefined
    const known = this.#responses.get(described) ?? (this.#resolved(described) as Response)
    this.#responses.set(described, known)
    return known
  }

  /** Replaces references, and closes objects that do not say that they are open. */
  #resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#resolved(part))
    if (typeof value !== 'object' || value === null) return value
    if ('$ref' in value) {
      const target = String(value.$ref)
        .slice(2)
        .split('/')
        .reduce<unknown>((part, key) => (part as Json)[key], this.#description)
      return this.#resolved(target)
    }
    const { example: _, examples: __, ...own } = value as Json
    const isOpen = own.type !== 'object' || !own.properties || 'additionalProperties' in own
    const parts = Object.entries(own).map(([key, part]) => [key, this.#resolved(part)])
    return Object.fromEntries(isOpen ? parts : [...parts, ['additionalProperties', false]])
  }

  #headerViolations({ headers: described = {} }: Response, headers: Answer['headers']): string[] {
    const schemas = new Map(Object.entries(described).map(([name, { schema }]) => [name.toLowerCase(), schema]))
    return Object.entries(headers).flatMap(([header, value]) => {
      const schema = schemas.get(header)
      if (!schema) {
        return commonHeaders.test(header) || value === undefined ? [] : [`the header ${header} is not described`]
      }
      const text = [value].flat().join(', ')
      return this.#errors(schema, text === '' || Number.isNaN(Number(text)) ? text : Number(text)).map(
        (error) => `the header ${header} ${error}`,
      )
    })
  }

  #bodyViolations({ content = {} }: Response, headers: Answer['headers'], body: string): string[] {
    const mediaType = mediaTypeOf(headers)
    if (Object.keys(content).length === 0) return body === '' ? [] : [`has a body: ${body.slice(0, 200)}`]
    const described = content[mediaType]
    if (!described) return [`the media type ${mediaType || '(none)'} is not described`]
    if (!/[/+]json$/.test(mediaType)) return []
    return this.#errors(described.schema, JSON.parse(body)).map((error) => `the body ${error}: ${body.slice(0, 500)}`)
  }

  #errors(schema: object, value: unknown): string[] {
    const validate = this.#validators.get(schema) ?? this.#ajv.compile(schema)
    this.#validators.set(schema, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
    )
  }
}
