import { CommandError, type CommandOptions, command } from '../../../contract/command.ts'
import { originOf, reasonOption } from '../../../contract/command-origin.ts'
import { jsonOption, printRecord, printRows } from '../../../contract/command-output.ts'
import { attempt, pageOptions, requireTarget, userOptions } from '../command-input.ts'
import { addMember, createGroup, deleteGroup, listGroups, listMembers, removeMember, showGroup } from './groups.ts'

const group = { name: 'group', description: 'The name of the group', required: true } as const

const listOptions = { ...pageOptions, json: jsonOption } as const satisfies CommandOptions

const createOptions = {
  description: { value: 'text', description: 'What the group is for' },
  ...reasonOption,
} as const satisfies CommandOptions

const deleteOptions = {
  yes: { description: 'Do not ask for confirmation' },
  ...reasonOption,
} as const satisfies CommandOptions

const memberOptions = { ...userOptions, ...reasonOption } as const satisfies CommandOptions

/** Commands for groups and their members. */
export const groupCommands = [
  command({
    name: 'group:create',
    summary: 'Create a group in the database',
    details: 'groups.names of the configuration declares groups too. Prints the group as one line of JSON.',
    arguments: [group],
    options: createOptions,
    run: async (context, { options, arguments: [name = ''] }) => {
      const description = options.description?.trim() || null
      const created = createGroup(context, originOf(context, options), { name, description })
      context.print(JSON.stringify(await attempt(created)))
    },
  }),
  command({
    name: 'group:list',
    summary: 'List the groups of the configuration and of the database',
    options: listOptions,
    run: async (context, { options: { limit, after = '', json } }) => {
      const found = await listGroups(context, { after, take: limit + 1 })
      const shown = found.slice(0, limit)
      const columns = ['name', 'description', 'declared_in', 'members'] as const
      printRows(context, shown, { json, columns, empty: 'No groups found.' })
      if (found.length > limit && context.isTerminal && !json)
        context.print(`More groups: --after=${shown.at(-1)?.name}`)
    },
  }),
  command({
    name: 'group:show',
    summary: 'Show a group and its members',
    details: 'The sources of a member say why the user is in the group: admin, invitation, import, or provider:<name>.',
    arguments: [group],
    options: listOptions,
    run: async (context, { options: { limit, after = '0', json }, arguments: [name = ''] }) => {
      if (!/^\d{1,15}$/.test(after)) throw new CommandError('--after must be the id of a user.')
      const record = await attempt(showGroup(context, name))
      const found = await listMembers(context, name, { after: Number(after), take: limit + 1 })
      const members = found.slice(0, limit)
      printRecord(context, { ...record, users: members }, json)
      if (found.length > limit && context.isTerminal && !json)
        context.print(`More members: --after=${members.at(-1)?.id}`)
    },
  }),
  command({
    name: 'group:delete',
    summary: 'Delete a group, and take all users out of it',
    details: 'Asks for confirmation. Remove a group of the configuration there first.',
    arguments: [group],
    options: deleteOptions,
    run: async (context, { options, arguments: [name = ''] }) => {
      const { members } = await attempt(showGroup(context, name))
      if (!options.yes && members > 0) {
        const typed = await context.ask(`This takes ${members} users out of ${name}. Type its name to continue: `)
        if (typed === null) {
          throw new CommandError('Deleting a group with members requires --yes if standard input is not a terminal.')
        }
        if (typed.trim() !== name) throw new CommandError('The name does not match. Nothing was deleted.')
      }
      await attempt(deleteGroup(context, originOf(context, options), name))
      context.print('Group deleted.')
    },
  }),
  command({
    name: 'group:add',
    summary: 'Add a user to a group',
    arguments: [group],
    options: memberOptions,
    run: async (context, { options, arguments: [name = ''] }) => {
      const { id, email } = await requireTarget(context, options)
      await attempt(addMember(context, originOf(context, options), name, id))
      context.print(`${email} is in ${name}.`)
    },
  }),
  command({
    name: 'group:remove',
    summary: 'Take a user out of a group',
    details:
      'Ends the membership whatever gave it. A provider that lists the group adds the user again at the next sign-in.',
    arguments: [group],
    options: memberOptions,
    run: async (context, { options, arguments: [name = ''] }) => {
      const { id, email } = await requireTarget(context, options)
      const providers = await attempt(removeMember(context, originOf(context, options), name, id))
      context.print(`${email} is no longer in ${name}.`)
      for (const provider of providers) {
        context.print(`${provider} adds the user again at the next sign-in while it lists the group.`)
      }
    },
  }),
]
