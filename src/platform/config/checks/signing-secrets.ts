/** Bytes of a secret after whsec_ (Standard Webhooks). */
const [minBytes, maxBytes] = [24, 64]

/** Returns what is wrong with secrets that sign messages. */
export function signingProblems(secret: string | readonly string[]): string[] {
  const secrets = [secret].flat()
  if (secrets.length === 0) return ['must have at least one secret']
  return secrets.filter(isMalformed).map(() => {
    const expected = `whsec_ and the base64 of ${minBytes} to ${maxBytes} bytes`
    return `must be ${expected}; generate one with: echo "whsec_$(openssl rand -base64 32)"`
  })
}

function isMalformed(secret: string): boolean {
  if (!secret.startsWith('whsec_')) return false
  const encoded = secret.slice('whsec_'.length)
  const bytes = Buffer.from(encoded, 'base64')
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  return !isBase64 || bytes.length < minBytes || bytes.length > maxBytes
}
