import { forwardAuthComparisons } from './guard-operations.ts'
import { oauthComparisons } from './oauth-operations.ts'
import { type Comparison, comparisons as credentialComparisons } from './operations.ts'

/** All comparisons, in the order of the report. */
export const comparisons: readonly Comparison[] = [
  ...credentialComparisons,
  ...forwardAuthComparisons,
  ...oauthComparisons,
]
