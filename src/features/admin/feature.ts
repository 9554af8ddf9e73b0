import { join } from 'node:path'
import { hasAdminRole } from '../../auth/access/administrators.ts'
import type { Feature } from '../../contract/feature.ts'
import { adminPage } from '../../pages/links.ts'

export const adminFeature = {
  commands: async () => {
    const lists = await Promise.all([
      import('./user-commands.ts').then(({ userCommands }) => userCommands),
      import('./invitation-commands.ts').then(({ invitationCommands }) => invitationCommands),
      import('./search-commands.ts').then(({ searchCommands }) => searchCommands),
      import('./account-commands.ts').then(({ accountCommands }) => accountCommands),
      import('./credential-commands.ts').then(({ credentialCommands }) => credentialCommands),
      import('./groups/commands.ts').then(({ groupCommands }) => groupCommands),
      import('./event-commands.ts').then(({ eventCommands }) => eventCommands),
    ])
    return lists.flat()
  },
  errors: {
    impersonated: {
      status: 403,
      meaning: 'An administrator acts as the user of the session, and cannot change anything.',
      remedy: 'Stop acting as the user by signing out, and sign in as yourself.',
    },
  },
  routes: [() => import('./api/routes.ts'), () => import('./pages/routes.ts')],
  offers: [
    {
      cookie: null,
      isFor: async ({ app, caller }) => {
        const config = app.config.current()
        return config.admin.pages && caller?.user != null && hasAdminRole(caller.user, config)
      },
      part: { template: join(import.meta.dirname, 'pages', 'offer.eta'), data: { adminHref: adminPage } },
    },
  ],
  scripts: { 'admin-follow.js': join(import.meta.dirname, 'pages', 'follow.js') },
} satisfies Feature
