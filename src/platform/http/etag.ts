import type { IncomingHttpHeaders } from 'node:http'

/** Tests whether the client already has the version with this ETag (RFC 9110 section 13.1.2). */
export const hasVersion = ({ headers }: { headers: IncomingHttpHeaders }, etag: string): boolean =>
  headers['if-none-match']?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false
