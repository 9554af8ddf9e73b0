import { eventTypes, messageType, namesEvent } from '../../event-types.ts'
import type { Report } from '../findings.ts'
import { nearest } from '../nearest.ts'
import type { Config } from '../schema.ts'
import { signingProblems } from './signing-secrets.ts'

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

function secretsAreUsable({ webhooks }: Config, report: Report): void {
  for (const [index, { secret }] of webhooks.entries()) {
    for (const problem of signingProblems(secret)) report(['webhooks', index, 'secret'], problem)
  }
}
