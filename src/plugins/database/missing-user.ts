/** Whether a row was refused because its user was deleted a moment before: users are all that rows refer to. */
export const isMissingUser = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'P2003'
