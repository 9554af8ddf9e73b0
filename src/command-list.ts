import type { Command } from './commands.ts'
import { configCommands } from './config-commands.ts'
import { doctorCommands } from './doctor/command.ts'
import { clientCommands } from './features/oauth/commands.ts'
import { keyCommands } from './features/oauth/keys/commands.ts'
import { tokenCommands } from './features/tokens/commands.ts'
import { guardCommands } from './guard-command.ts'
import { testServerCommands } from './test-server/command.ts'
import { userCommands } from './users/commands.ts'

/** All commands, in the order of the help and of docs/commands.md. */
export const commands: readonly Command[] = [
  ...userCommands,
  ...clientCommands,
  ...keyCommands,
  ...tokenCommands,
  ...guardCommands,
  ...configCommands,
  ...doctorCommands,
  ...testServerCommands,
]
