import { Type } from 'typebox'
import { accessSections } from './sections/access.ts'
import { accountSections } from './sections/accounts.ts'
import { oauthSections } from './sections/oauth.ts'
import { appearanceSections, operationSections, serverSections } from './sections/server.ts'
import { socialSections } from './sections/social.ts'

/** The one schema of the configuration file: validation, defaults, types and the text that editors show. */
export const configSchema = Type.Object(
  {
    ...serverSections,
    ...accessSections,
    ...accountSections,
    ...appearanceSections,
    ...oauthSections,
    ...socialSections,
    ...operationSections,
  },
  { additionalProperties: false, title: 'svc', description: 'The configuration of svc.' },
)
