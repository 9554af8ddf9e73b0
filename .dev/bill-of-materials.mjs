import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/**
 * Completes a bill of materials of npm (CycloneDX): adds the packages that other packages bundle, and replaces what differs
 * between two builds or is no URL.
 */
export function completeBill(bill, { name, modules }) {
  const listed = bill.components.map((part) => ({ ...part, externalReferences: references(part) }))
  const known = new Set(listed.map((part) => `${part.name}@${part.version}`))
  const bundled = manifestsIn(modules)
    .filter((part) => !known.has(`${part.name}@${part.version}`))
    .map(({ name, version, license, place }) => ({
      'bom-ref': `${name}@${version}`,
      type: 'library',
      name,
      version,
      scope: 'required',
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      properties: [
        { name: 'cdx:npm:package:bundled', value: 'true' },
        { name: 'cdx:npm:package:path', value: place },
      ],
      ...(typeof license === 'string' && { licenses: [licenseOf(license)] }),
    }))
  const added = [...new Map(bundled.map((part) => [part['bom-ref'], part])).values()]
  const { timestamp: _, ...metadata } = bill.metadata
  // npm names it after its folder.
  metadata.component.name = name
  const components = [...listed, ...added]
  return { ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify([metadata, components]))}`, metadata, components }
}

/** npm passes on what package.json says, such as git@github.com:owner/name.git. */
function references({ externalReferences = [] }) {
  const urls = externalReferences.map((each) => ({
    ...each,
    url: each.url
      .replace(/^(?:git\+)?(?:ssh:\/\/)?git@([^:/]+)[:/]/, 'https://$1/')
      .replace(/^git(\+https?)?:\/\//, 'https://'),
  }))
  return urls.filter(({ url }) => URL.canParse(url))
}

const licenseOf = (text) => (/[() ]/.test(text) ? { expression: text } : { license: { id: text } })

/** Every package.json with a name and a version, also inside of packages. */
function manifestsIn(modules) {
  return readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === 'package.json')
    .map((entry) => ({ place: relative(modules, entry.parentPath), ...read(join(entry.parentPath, entry.name)) }))
    .filter(({ name, version }) => typeof name === 'string' && typeof version === 'string')
    .sort((one, other) => (one.place < other.place ? -1 : 1))
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/** A UUID of version 8 (RFC 9562) that depends on the content only. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
