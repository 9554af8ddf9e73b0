import { accountCommands } from './admin/account-commands.ts'
import { credentialCommands } from './admin/credential-commands.ts'
import { eventCommands } from './admin/event-commands.ts'
import { invitationCommands } from './admin/invitation-commands.ts'
import { searchCommands } from './admin/search-commands.ts'
import { userCommands } from './admin/user-commands.ts'
import type { Command } from './commands.ts'
import { configCommands } from './config-commands.ts'
import { doctorCommands } from './doctor/command.ts'
import { clientCommands } from './features/oauth/commands.ts'
import { keyCommands } from './features/oauth/keys/commands.ts'
import { tokenCommands } from './features/tokens/commands.ts'
import { guardCommands } from './guard-command.ts'
import { dataCommands } from './maintenance/commands.ts'
import { importCommands } from './maintenance/laravel/command.ts'
import { testServerCommands } from './test-server/command.ts'
import { webhookCommands } from './webhooks/commands.ts'

/** All commands, in the order of the help and of docs/commands.md. */
export const commands: readonly Command[] = [
  ...userCommands,
  ...invitationCommands,
  ...searchCommands,
  ...accountCommands,
  ...credentialCommands,
  ...eventCommands,
  ...clientCommands,
  ...keyCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...guardCommands,
  ...configCommands,
  ...dataCommands,
  ...importCommands,
  ...doctorCommands,
  ...testServerCommands,
]
