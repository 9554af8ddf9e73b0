import { join } from 'node:path'
import type { Feature } from '../../feature.ts'

export const twoFactorFeature = {
  accountPages: ({ two_factor }) => (two_factor.enabled ? ['two-factor'] : []),
  scripts: { 'print.js': join(import.meta.dirname, 'scripts', 'print.js') },
} satisfies Feature
