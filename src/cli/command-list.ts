import type { Command } from '../contract/command.ts'
import { accountCommands } from '../features/admin/account-commands.ts'
import { credentialCommands } from '../features/admin/credential-commands.ts'
import { eventCommands } from '../features/admin/event-commands.ts'
import { invitationCommands } from '../features/admin/invitation-commands.ts'
import { searchCommands } from '../features/admin/search-commands.ts'
import { userCommands } from '../features/admin/user-commands.ts'
import { clientCommands } from '../features/oauth/clients/commands.ts'
import { keyCommands } from '../features/oauth/keys/commands.ts'
import { tokenCommands } from '../features/tokens/commands.ts'
import { webhookCommands } from '../features/webhooks/commands.ts'
import { doctorCommands } from '../tools/doctor/command.ts'
import { dataCommands } from '../tools/maintenance/commands.ts'
import { importCommands } from '../tools/maintenance/laravel/command.ts'
import { testServerCommands } from '../tools/test-server/command.ts'
import { configCommands } from './config-commands.ts'
import { guardCommands } from './guard-command.ts'

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
