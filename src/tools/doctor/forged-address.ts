import { networkInterfaces } from 'node:os'
import type { Config } from '../../platform/config/schema.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { type Check, failure, ok, skipped, warning } from './check.ts'
import { type ProbeResponse, probe } from './probe.ts'

/** An address that is reserved for documentation (RFC 5737), so that no client has it. */
const forged = '203.0.113.77'

/**
 * Tests whether a client can forge the address by which svc limits its attempts. svc counts requests to an unknown provider
 * by address, and returns the remaining number. If a forged header has no effect, this number continues to fall.
 */
export async function checkForgedAddress(url: URL, config: Config | null): Promise<Check[]> {
  const check = 'proxy'
  const remaining = async (headers: Record<string, string> = {}): Promise<number | null> => {
    const sent = { 'content-type': 'application/json', ...headers }
    const answer = await probe(`${url.origin}/auth/svc-doctor/token`, { method: 'POST', headers: sent, body: '{}' })
    return numberOf(answer)
  }
  const first = await remaining()
  const second = await remaining()
  const answers = [await remaining({ 'x-forwarded-for': forged }), await remaining({ forwarded: `for=${forged}` })]
  if (first === null || second === null || answers.includes(null))
    return [skipped(check, 'The rate limit that this check uses is off.')]
  // Requests of other clients with the same address may lower the number. Only another address raises it.
  if (answers.some((number) => (number ?? 0) >= second)) {
    if (isTrustedHere(url, config)) {
      const message =
        'Not checked: svc trusts the addresses of this machine, so it accepts forwarded headers from here, as expected. Run ' +
        'the command on another machine.'
      return [warning(check, message, 'server.trust_proxy')]
    }
    const message =
      'A client can forge its address with X-Forwarded-For and so evade rate limits. The proxy must append the address ' +
      'of its peer, and svc must trust only the addresses of proxies. If svc trusts this machine, run the command on ' +
      'another one.'
    return [failure(check, message, 'server.trust_proxy')]
  }
  return [ok(check, 'A forged X-Forwarded-For changes nothing.')]
}

/** Tests whether the command calls svc itself, without a proxy, from an address that svc trusts. */
function isTrustedHere(url: URL, config: Config | null): boolean {
  if (!config || url.protocol !== 'http:' || url.port !== String(config.server.port)) return false
  const trusted = new AddressRanges(config.server.trust_proxy)
  return Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => trusted.has(address)))
}

/** The remaining requests, 0 when limited, or null without a limit. */
function numberOf({ status, headers }: ProbeResponse): number | null {
  if (status === 429) return 0
  const text = headers['x-ratelimit-remaining']
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : null
}
