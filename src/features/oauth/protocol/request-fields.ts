/** Chooses the API of a token. */
export const resource =
  'The `audience` of the API that the access token is for (RFC 8707). By default, the scopes choose the API.'

/** How a client authenticates in the body. */
export const clientFields = {
  client_id: 'The client, if it does not authenticate by HTTP Basic.',
  client_secret: 'The secret of a client that authenticates by `client_secret_post`.',
  client_assertion: 'A signed JWT of the client (RFC 7523 section 2.2).',
  client_assertion_type: '`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`.',
}

/** Fields of an authorization request. */
export const authorizationFields = {
  client_id: 'The client.',
  response_type: '`code`.',
  redirect_uri: 'A registered redirect URI of the client.',
  scope: 'Scopes, separated by spaces.',
  state: 'A value that svc returns to the client.',
  nonce: 'A value that the ID token repeats.',
  code_challenge: 'The PKCE challenge (RFC 7636 section 4.2).',
  code_challenge_method: '`S256`.',
  prompt: '`none`, `login`, `consent`, or `create` to show the registration page first.',
  max_age: 'The maximum age of the sign-in in seconds.',
  login_hint: 'The email address to sign in with.',
  id_token_hint: 'An ID token of the expected user.',
  acr_values: 'The requested authentication contexts.',
  claims: 'Requested claims as JSON (OpenID Connect Core section 5.5).',
  resource,
  response_mode: '`query`, `fragment`, `form_post` or `jwt`.',
  dpop_jkt: 'The thumbprint of the DPoP key (RFC 9449 section 10).',
}

/** Fields of introspection and revocation. */
export const tokenField = {
  token: 'An access token or refresh token.',
  token_type_hint: '`access_token` or `refresh_token`.',
}
