/** A function in a profile of V8. */
export interface CallFrame {
  functionName: string
  url: string
  lineNumber: number
  columnNumber: number
}

/** Returns the package of a function, or the part of Node that it belongs to. */
export function packageOf({ url, functionName }: CallFrame): string {
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (url.startsWith('node:')) return url.split('/')[0] ?? url
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(url)
  if (found?.[1]) return found[1]
  return url === '' ? 'native code' : 'svc'
}
