/** Claims with a meaning in JWTs (RFC 7519, RFC 9068), and those that svc sends. */
export const reservedClaims: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'azp', 'nonce', 'acr', 'amr', 'auth_time', 'at_hash', 'c_hash'],
  ...['s_hash', 'sid', 'client_id', 'scope', 'scopes', 'cnf', 'act', 'may_act', 'gty', 'gid', 'status', 'active'],
  ...['token_type', 'username', 'events', 'toe', 'txn', 'role', 'roles', 'groups', 'entitlements', 'name', 'email'],
  ...['email_verified', 'preferred_username', 'given_name', 'family_name', 'picture', 'updated_at', 'abilities'],
  ...['token_id', 'subject_jti', 'workload', '_claim_names', '_claim_sources', '__proto__', 'constructor'],
])
