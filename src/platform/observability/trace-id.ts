const isZero = (hex: string | undefined): boolean => hex === undefined || /^0+$/.test(hex)

/** Returns the trace id of a `traceparent` header (W3C Trace Context section 3.2); undefined if invalid. */
export function sentTraceId(traceparent: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, id, parent, rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent) ?? []
  const isValid = version !== 'ff' && (version !== '00' || rest === undefined) && !isZero(id) && !isZero(parent)
  return isValid ? id : undefined
}
