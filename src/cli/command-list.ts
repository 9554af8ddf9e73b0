import { features } from '../app/feature-list.ts'
import type { Command } from '../contract/command.ts'
import { doctorCommands } from '../tools/doctor/command.ts'
import { initCommands } from '../tools/init/command.ts'
import { dataCommands } from '../tools/maintenance/commands.ts'
import { importCommands } from '../tools/maintenance/laravel/command.ts'
import { userFileCommands } from '../tools/maintenance/users-file/commands.ts'
import { testServerCommands } from '../tools/test-server/command.ts'
import { configCommands } from './config-commands.ts'
import { guardCommands } from './guard-command.ts'
import { planCommands } from './plan/command.ts'

const ofFeatures = await Promise.all(features.map(({ commands }) => commands?.() ?? []))

/** All commands, in the order of the help and of docs/commands.md. */
export const commands: readonly Command[] = [
  ...initCommands,
  ...ofFeatures.flat(),
  ...guardCommands,
  ...configCommands,
  ...planCommands,
  ...dataCommands,
  ...importCommands,
  ...userFileCommands,
  ...doctorCommands,
  ...testServerCommands,
]
