import type { FastifyReply } from 'fastify'
import type { AccessPageData } from '../../src/pages/access-page-data.ts'
import type { AccountPageData } from '../../src/pages/account-page-data.ts'
import type { PageData } from '../../src/pages/page-data.ts'
import { textsOf } from '../../src/pages/texts.ts'
import { type AccountPageName, accountPageNames } from '../../src/platform/config/sections/accounts.ts'

/** Sections of the pages that have another name than their section. */
const sections: readonly [start: string, AccountPageName][] = [
  ...accountPageNames.map((name): [string, AccountPageName] => [name, name]),
  ['email', 'profile'],
  ['delete', 'data'],
  ['passkey', 'passkeys'],
  ['recovery-codes', 'two-factor'],
  ['token', 'tokens'],
]

/** A page beside the menu of all sections. */
export function inAccount<Name extends (keyof AccountPageData | keyof AccessPageData) & keyof PageData>(
  reply: FastifyReply,
  name: Name,
  data: PageData[Name],
  { notice = null, words = '' }: { notice?: string | null; words?: string } = {},
): FastifyReply {
  const text = textsOf(reply.request)
  const current = sections.find(([start]) => name.startsWith(`account-${start}`))?.[1]
  reply.menu = {
    label: text('account.menu'),
    home: { label: text('account.title'), href: '/account' },
    sections: accountPageNames.map((section) => ({
      name: section,
      label: `${text(`account.${section}`)} ${words}`,
      hint: `${text(`account.${section}_hint`)} ${words}`,
      href: `/account/${section}`,
      isCurrent: section === current,
    })),
    notice,
    scripts: [],
    signOutAction: '/oauth/sign-out',
  }
  return reply.page(name, data)
}
