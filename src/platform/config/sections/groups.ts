import { flag, named, section, text } from './kinds.ts'

/** Names of groups: ASCII without separators, because proxies send them in a header. */
export const groupNames = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,99}$',
  expected: 'up to 100 letters, digits and _ . : @ + -, beginning with a letter or digit',
}

const groupName = new RegExp(groupNames.pattern)

/** Tests for the name of a group. */
export const isGroupName = (text: string): boolean => groupName.test(text)

/** Groups of users. */
export const groupSections = {
  groups: section('Groups of users, besides their role. docs/users.md describes them.', {
    names: named(groupNames, text({ maxLength: 255, description: 'What the group is for.' }), {
      description:
        'Groups with a description. svc group:create and the admin API create more of them in the database. A group that you remove here keeps its members until svc group:delete.',
      entries: [{ value: { staff: 'Everyone who works here', 'wiki-editors': 'May edit the wiki' } }],
    }),
    include_role: flag({
      default: false,
      description:
        'Whether applications and guarded services get the role of a user as one of the groups. A group can then not have the name of a role.',
    }),
  }),
}
