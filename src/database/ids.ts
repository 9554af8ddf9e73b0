/** Maximum id of a row: a 64-bit signed integer in both engines. Queries with larger ids fail. */
export const maxRowId = 2n ** 63n - 1n
