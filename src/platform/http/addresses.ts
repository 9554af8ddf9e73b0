import { BlockList, isIP } from 'node:net'

/** Address ranges of both families, in separate lists: one shared list would match IPv4 addresses with IPv6 ranges. */
export class AddressRanges {
  readonly #ipv4 = new BlockList()
  readonly #ipv6 = new BlockList()
  /** The last answer: a proxy asks with the same address for each request. */
  #last: { address: string; isInRange: boolean } | undefined

  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', prefix] = range.split('/')
      if (isIP(address) === 4) this.#ipv4.addSubnet(address, Number(prefix ?? 32), 'ipv4')
      else this.#ipv6.addSubnet(address, Number(prefix ?? 128), 'ipv6')
    }
  }

  /** Tests whether an address (IPv4, or IPv6 without brackets) is in a range. */
  has(address: string): boolean {
    if (this.#last?.address !== address) this.#last = { address, isInRange: this.#check(address) }
    return this.#last.isInRange
  }

  #check(address: string): boolean {
    const family = isIP(address)
    return family === 4 ? this.#ipv4.check(address, 'ipv4') : family === 6 && this.#ipv6.check(address, 'ipv6')
  }
}

/** Ranges that the internet does not route (IANA special-purpose registries, RFC 6890), and multicast. */
const special = new AddressRanges([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Only 2000::/3 of IPv6 is in use. Everything else is special, including addresses that embed IPv4.
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])

/** Loopback, link-local and private networks (RFC 1918, RFC 4193), and networks behind one public address (RFC 6598). */
const privateRanges = new AddressRanges([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
])

/** Tests for a loopback or private IP address; false for any other text. */
export const isPrivateAddress = (address: string): boolean => privateRanges.has(address)

/** Tests for a public IP address; false for any other text. */
export const isPublicAddress = (address: string): boolean => isIP(address) !== 0 && !special.has(address)
