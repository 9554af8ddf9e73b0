import type { Configuration } from 'oidc-provider'
// @ts-expect-error: the types of oidc-provider omit this file
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js'

/** The library's storage for foreign providers of the tests, for one provider. Its default instance logs a warning. */
export const memoryAdapter: () => NonNullable<Configuration['adapter']> = createMemoryAdapter
