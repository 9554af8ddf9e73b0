import type { ProtocolHolder } from '../protocol/provider.ts'

const path = /^\/oauth\/interaction\/([\w-]{1,64})$/

/** Where the authorization ends that a path of svc goes on with: at a redirect URI that was checked; null for any other path. */
export async function redirectTarget(holder: ProtocolHolder, returnTo: string | null): Promise<string | null> {
  const uid = path.exec(returnTo ?? '')?.[1]
  if (uid === undefined) return null
  const { provider } = await holder.current()
  const uri = (await provider.Interaction.find(uid))?.params.redirect_uri
  return typeof uri === 'string' ? uri : null
}
