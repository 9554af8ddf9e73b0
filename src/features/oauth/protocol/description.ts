import { continuing } from '../../../pages/after-form.ts'
import { pageAnswers } from '../../../pages/pages.ts'
import { optionalBody } from '../../../platform/http/description/described-schemas.ts'
import { type TSchema, Type } from '../../../platform/json-schema.ts'
import { maxTokens } from './introspection/request.ts'
import { protocolPaths, protocolRoutes } from './paths.ts'
import { authorizationFields, clientFields, resource, tokenField } from './request-fields.ts'
import {
  DeviceAuthorization,
  dpopNonce,
  IntrospectionAnswer,
  KeySet,
  PushedRequest,
  protocolErrors,
  ServerMetadata,
  TokenResponse,
  UserInfo,
} from './responses.ts'

/** What the API description says about a protocol path. The library validates the requests itself. */
interface Described {
  id: string
  summary: string
  description: string
  /** The success response. A page has none. */
  response?: Record<number, TSchema>
  /** Query parameters of a GET and fields of a POST, with their descriptions. */
  fields?: Record<string, string>
  /** Fields of a POST alone. */
  form?: Record<string, string>
  required?: readonly string[]
  /** Fields that may be repeated. */
  lists?: Record<string, string>
  /** How a caller authenticates. */
  authentication?: 'client' | 'token'
}

const descriptions: Readonly<Record<string, Described>> = {
  [protocolRoutes.authorization]: {
    id: 'authorize',
    summary: 'Authorization endpoint (RFC 6749 section 3.1)',
    description:
      'Returns to the client with a `code` or an error, after the sign-in and consent pages if they are needed. Public clients need PKCE.',
    fields: { ...authorizationFields, request_uri: 'A pushed authorization request (RFC 9126).' },
    required: ['client_id'],
  },
  '/oauth/authorize/:uid': {
    id: 'resumeAuthorization',
    summary: 'Continue an authorization after sign-in or consent',
    description: 'The pages of svc redirect here. It works only in the browser that began the authorization.',
  },
  [protocolRoutes.token]: {
    id: 'issueTokens',
    summary: 'Token endpoint (RFC 6749 section 3.2)',
    description:
      'A client uses the grants in its `grants`. A refresh replaces the refresh token, except for `fapi` clients. A reused code or refresh token revokes its tokens. `rate_limits.token` limits failed client authentications.',
    response: { 200: TokenResponse },
    required: ['grant_type'],
    authentication: 'client',
    fields: {
      grant_type: 'The grant, for example `authorization_code`.',
      code: 'The authorization code.',
      redirect_uri: 'The redirect URI of the authorization request.',
      code_verifier: 'The PKCE verifier (RFC 7636 section 4.1).',
      refresh_token: 'For `refresh_token`.',
      device_code: 'For the device grant (RFC 8628 section 3.4).',
      scope: 'Scopes, separated by spaces.',
      resource,
      username: 'The email address, for the password grant.',
      password: 'For the password grant.',
      otp: 'A TOTP or recovery code, for the password grant.',
      subject_token: 'For token exchange (RFC 8693 section 2.1).',
      subject_token_type: 'For token exchange.',
      requested_token_type: 'For token exchange.',
      audience: 'For token exchange.',
      ...clientFields,
    },
  },
  [protocolRoutes.device_authorization]: {
    id: 'authorizeDevice',
    summary: 'Device authorization endpoint (RFC 8628 section 3.1)',
    description:
      'Show the user code to the user, then poll the token endpoint with the device code. Both expire after `oauth.device_code_ttl` (10 minutes).',
    response: { 200: DeviceAuthorization },
    authentication: 'client',
    fields: {
      scope: 'Scopes, separated by spaces.',
      resource,
      ...clientFields,
    },
  },
  [protocolRoutes.code_verification]: {
    id: 'verifyDevice',
    summary: 'Page: enter the code of a device',
    description:
      'The target of `verification_uri`. The page shows the client and the address of the device, then the user signs in and consents.',
    fields: {
      user_code: 'The code that the device shows.',
    },
    required: ['xsrf'],
    form: {
      xsrf: 'The token of the form.',
      confirm: 'Confirms the device.',
      abort: 'Rejects the device.',
    },
  },
  '/oauth/device/:uid': {
    id: 'resumeDeviceVerification',
    summary: 'Continue a device authorization after sign-in or consent',
    description: 'The pages of svc redirect here. The device gets its tokens with its next poll.',
  },
  [protocolRoutes.userinfo]: {
    id: 'getUserInfo',
    summary: 'UserInfo endpoint (OpenID Connect Core section 5.3)',
    description: 'Requires an access token with the scope `openid` (403). The other scopes determine the claims.',
    response: { 200: UserInfo },
    authentication: 'token',
    fields: { access_token: 'The access token of a POST without the header `Authorization`.' },
  },
  [protocolRoutes.introspection]: {
    id: 'introspectToken',
    summary: 'Token introspection (RFC 7662), for one token or several',
    description:
      'A client sees its own tokens. A client with `introspect: true` sees every token. Other tokens are `active: false`. For several tokens, send `tokens[]`: `tokens` of the response has their states in the same order.',
    response: { 200: IntrospectionAnswer },
    authentication: 'client',
    fields: { ...tokenField, ...clientFields, token: 'An access token, API token or refresh token.' },
    lists: { 'tokens[]': 'Instead of `token`: at most 100 tokens. In JSON, `tokens` is an array.' },
  },
  [protocolRoutes.revocation]: {
    id: 'revokeOAuthToken',
    summary: 'Token revocation (RFC 7009)',
    description:
      'An access token ends with the tokens exchanged for it, a refresh token with all tokens of its authorization. A client revokes only its own tokens.',
    response: { 200: Type.Null({ description: 'Revoked, or not a valid token.' }) },
    required: ['token'],
    authentication: 'client',
    fields: { ...tokenField, ...clientFields },
  },
  [protocolRoutes.end_session]: {
    id: 'endSsoSession',
    summary: 'Page: sign out (RP-Initiated Logout section 2)',
    description:
      'Asks the user. The form then ends the session of svc, notifies the clients and returns to `post_logout_redirect_uri`.',
    fields: {
      id_token_hint: 'The ID token of the user.',
      client_id: 'The client.',
      post_logout_redirect_uri: 'A registered URI to return to.',
      state: 'A value that svc returns to the client.',
    },
  },
  '/oauth/logout/confirm': {
    id: 'confirmSignOut',
    summary: 'Form: sign out',
    description:
      'Without `logout`, signs out of the client alone. Redirects to `post_logout_redirect_uri`, or to a page of svc.',
    required: ['xsrf'],
    form: { xsrf: 'The token of the form.', logout: 'Whether to end the session at svc.' },
  },
  '/oauth/logout/success': {
    id: 'showSignedOut',
    summary: 'Page: signed out',
    description: 'The end of a sign-out without `post_logout_redirect_uri`.',
  },
  [protocolRoutes.pushed_authorization_request]: {
    id: 'pushAuthorizationRequest',
    summary: 'Pushed authorization requests (RFC 9126)',
    required: ['client_id', 'response_type'],
    description:
      'Redirect the browser to the authorization endpoint with `client_id` and the returned `request_uri` next. `fapi` clients must push their requests.',
    response: { 201: PushedRequest },
    authentication: 'client',
    fields: { ...authorizationFields, ...clientFields },
  },
  [protocolRoutes.jwks]: {
    id: 'getJwks',
    summary: 'The keys that verify tokens (RFC 7517)',
    description: 'Cache the keys, and fetch them again when a token names an unknown `kid`.',
    response: {
      200: Type.Unsafe<object>({
        description: 'The keys.',
        content: { 'application/jwk-set+json': { schema: KeySet } },
      }),
    },
  },
  '/.well-known/openid-configuration': {
    id: 'getOpenIdConfiguration',
    summary: 'Discovery (OpenID Connect Discovery)',
    description: 'Lists the endpoints and capabilities. Client libraries configure themselves with it.',
    response: { 200: ServerMetadata },
  },
  '/.well-known/oauth-authorization-server': {
    id: 'getServerMetadata',
    summary: 'Discovery (RFC 8414)',
    description:
      'The same document as `/.well-known/openid-configuration`, for OAuth libraries without OpenID Connect.',
    response: { 200: ServerMetadata },
  },
}

const securities = {
  client: [{ basic: [] }, {}],
  token: [{ bearer: [] }, { dpop: [] }],
}

/** The response schemas of a protocol path, and what only the API description reads: its parameters and authentication. */
export function describe(path: string, method: string) {
  const {
    id,
    summary,
    description,
    response,
    fields = {},
    form = {},
    lists = {},
    required: all = [],
    authentication,
  } = descriptions[path] ?? { id: '', summary: '', description: '' }
  const { methods = [], caller = 'program', isEntry = false } = protocolPaths[path] ?? {}
  const isSecond = method === 'POST' && methods.includes('GET')
  const described = Object.entries(method === 'POST' ? { ...fields, ...form } : fields)
  const required = all.filter((name) => described.some(([field]) => field === name))
  const parameters = {
    title: `${id.charAt(0).toUpperCase()}${id.slice(1)}Form`,
    type: 'object',
    properties: Object.fromEntries([
      ...described.map(([name, description]) => [
        name,
        // An empty field is like an absent one.
        { type: 'string', ...(required.includes(name) ? { minLength: 1 } : {}), description },
      ]),
      ...Object.entries(lists).map(([name, description]) => [
        name,
        { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: maxTokens, description },
      ]),
    ]),
    ...(required.length > 0 ? { required } : { [optionalBody]: true }),
  }
  return {
    schema: {
      operationId: isSecond ? `${id}ByPost` : id,
      tags: ['OpenID Connect'],
      summary,
      description: isSecond ? `As with GET${isEntry ? ', on https only' : ''}. ${description}` : description,
      response: {
        ...(authentication ? withNonce(response ?? {}) : (response ?? pagesOf(path, method))),
        ...protocolErrors(errorsOf(path, method), caller),
      },
    },
    alsoAnswers: alsoAnswersOf(path, method),
    protocol: {
      ...(described.length > 0 && method === 'GET' && path !== protocolRoutes.userinfo ? { query: parameters } : {}),
      ...(described.length > 0 && method === 'POST' ? { body: parameters } : {}),
      security: authentication ? securities[authentication] : [],
    },
  }
}

const withNonce = (response: Record<number, TSchema>) =>
  Object.fromEntries(Object.entries(response).map(([status, schema]) => [status, { ...schema, headers: dpopNonce }]))

/** Paths that always answer with a page, or always redirect. */
const pagesOnly = ['GET /oauth/device', 'GET /oauth/logout/success', 'POST /oauth/logout/confirm']

function pagesOf(path: string, method: string) {
  const name = `${method} ${path}`
  return {
    200: method === 'POST' && !protocolPaths[path]?.isEntry ? continuing : pageAnswers.page,
    ...(pagesOnly.includes(name) ? {} : { 303: Type.Null({ description: 'To the next page, or to the client.' }) }),
  }
}

/** Statuses with errors of the protocol. */
function errorsOf(path: string, method: string): number[] {
  // Published documents need no database.
  if (path.startsWith('/.well-known/')) return [429]
  if (protocolPaths[path]?.caller === 'browser') return [...statusesOfPage(path, method), 429, 503]
  return [400, 401, ...(path === protocolRoutes.userinfo ? [403] : []), 429, 503]
}

/** Errors of a page. The page for the code of a device takes any query. */
function statusesOfPage(path: string, method: string): number[] {
  if (path === protocolRoutes.code_verification && method === 'GET') return []
  return [400, ...(method === 'POST' && !protocolPaths[path]?.isEntry ? [419] : [])]
}

/** Statuses with errors of svc. */
function alsoAnswersOf(path: string, method: string): number[] {
  // The library serves POST only on https.
  return method === 'POST' && protocolPaths[path]?.isEntry ? [405] : []
}
