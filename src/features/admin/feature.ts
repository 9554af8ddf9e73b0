import type { Feature } from '../../contract/feature.ts'

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
  routes: [() => import('./api/routes.ts')],
} satisfies Feature
