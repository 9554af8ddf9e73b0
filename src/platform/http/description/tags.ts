/** Groups of operations in the API description, in order. */
export const tags = [
  { name: 'Sessions', description: 'Sign a browser in and out, and list its sessions.' },
  { name: 'Account', description: 'Registration, profile, password, email address and confirmation.' },
  { name: 'Password reset', description: 'Reset a forgotten password by mail.' },
  { name: 'Two-factor authentication', description: 'Authenticator apps and recovery codes.' },
  { name: 'Passkeys', description: 'Register passkeys, and sign in and confirm with them (WebAuthn).' },
  { name: 'Social login', description: 'Sign in through another identity provider.' },
  { name: 'API tokens', description: 'Opaque tokens `id|secret` with abilities.' },
  { name: 'Mobile apps', description: 'Files that connect native apps with this domain.' },
  { name: 'Personal access tokens', description: 'JWTs that users create for their own programs.' },
  { name: 'Authorized applications', description: 'What a user granted to OAuth clients.' },
  { name: 'OpenID Connect', description: 'The endpoints of OAuth 2.0 and OpenID Connect, for any client library.' },
  { name: 'Account pages', description: 'Pages where users manage their own accounts.' },
  { name: 'Pages', description: 'Pages and forms of svc for browsers.' },
  {
    name: 'Administration',
    description: 'Manage users, credentials and keys, and read the audit trail. For administrators.',
  },
  { name: 'Guard', description: 'Decides about requests to the services behind the same proxy.' },
  { name: 'Health', description: 'Checks for load balancers, the contact for vulnerabilities, and this description.' },
  { name: 'Samples', description: 'Sample routes that show the guard. `samples: false` removes them.' },
  { name: 'Test page', description: 'A page that tries the guard in development.' },
]
