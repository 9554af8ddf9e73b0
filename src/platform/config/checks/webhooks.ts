import { eventTypes, messageType, namesEvent } from '../../event-types.ts'
import type { Report } from '../findings.ts'
import { nearest } from '../nearest.ts'
import type { Config } from '../schema.ts'

/** Rules about the receivers of webhooks. */
export const webhookChecks = [urlsDiffer, eventsExist, secretsAreUsable] as const

function urlsDiffer({ webhooks }: Config, report: Report): void {
  const urls = webhooks.map(({ url }) => url)
  for (const [index, url] of urls.entries()) {
    const first = urls.indexOf(url)
    if (first < index) report(['webhooks', index, 'url'], `must be unique; webhooks[${first}] already uses it`)
  }
}

function eventsExist({ webhooks }: Config, report: Report): void {
  for (const [index, { events }] of webhooks.entries()) {
    for (const [place, name] of events.entries()) {
      if (eventTypes.some((event) => namesEvent(name, event))) continue
      const near = nearest(name, eventTypes.map(messageType))
      const hint = near === undefined ? 'docs/webhooks.md lists the events' : `did you mean ${near}?`
      report(['webhooks', index, 'events', place], `must name an event (found "${name}"); ${hint}`)
    }
  }
}

/** Bytes of a secret after whsec_ (Standard Webhooks). */
const [minBytes, maxBytes] = [24, 64]

function secretsAreUsable({ webhooks }: Config, report: Report): void {
  for (const [index, { secret }] of webhooks.entries()) {
    const secrets = [secret].flat()
    if (secrets.length === 0) report(['webhooks', index, 'secret'], 'must have at least one secret')
    for (const text of secrets) {
      if (!text.startsWith('whsec_')) continue
      const encoded = text.slice('whsec_'.length)
      const bytes = Buffer.from(encoded, 'base64')
      const isBase64 = bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
      if (isBase64 && bytes.length >= minBytes && bytes.length <= maxBytes) continue
      const expected = `whsec_ and the base64 of ${minBytes} to ${maxBytes} bytes`
      report(
        ['webhooks', index, 'secret'],
        `must be ${expected}; generate one with: echo "whsec_$(openssl rand -base64 32)"`,
      )
    }
  }
}
