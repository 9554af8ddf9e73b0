import type { FastifyInstance } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { recordEvent } from '../../../identity/events.ts'
import type { Detail } from '../../../pages/admin-page-data.ts'
import { formRoute, pageRoute } from '../../../pages/form-page.ts'
import { textsOf } from '../../../pages/texts.ts'
import { notFound } from '../../../platform/errors.ts'
import { idParameter, typedText, uncheckedText } from '../../../platform/http/fields.ts'
import { listFailed, retryFailed } from '../../../platform/jobs/failed-jobs.ts'
import { Type } from '../../../platform/json-schema.ts'
import { algorithms } from '../../oauth/keys/jwk.ts'
import { listedKeys, rotateKeys } from '../../oauth/keys/manage.ts'
import { kindOf } from '../../webhooks/queue.ts'
import { adminOrigin } from '../api/request.ts'
import { databaseOf } from '../api/still-administrator.ts'
import { formBlockOf, pageOf, present, rowOf, rowsOf, take, timeOf } from './blocks.ts'
import { adminSection, changed, ownPages, sendSection } from './section-hooks.ts'

/** The signing keys. */
export async function keyPages(app: FastifyInstance): Promise<void> {
  const section = adminSection('keys')

  pageRoute(app, {
    path: section,
    operation: 'AdminKeys',
    config: ownPages,
    summary: 'signing keys',
    description: 'The keys in the order in which they sign.',
    async page(request, reply) {
      const text = textsOf(request)
      const keys = await listedKeys(app, app.clock.now())
      return sendSection(reply, {
        title: text('admin.keys'),
        lead: text('admin.about_keys'),
        blocks: [
          rowsOf({
            name: 'keys',
            rows: keys.map(({ kid, algorithm, state, signs_from }) =>
              rowOf({
                title: kid,
                badges: [algorithm, state],
                details: [{ at: signs_from, text: 'admin.signs_from' }],
              }),
            ),
          }),
          formBlockOf({ name: 'rotate', action: `${section}/rotate`, submit: text('admin.rotate') }),
        ],
      })
    },
  })

  formRoute(app, {
    path: `${section}/rotate`,
    operation: 'AdminKeyRotation',
    config: ownPages,
    summary: 'create new signing keys',
    description: 'The new keys sign when all caches have them.',
    async send(request) {
      const parts = { config: app.config, database: databaseOf(visitOf(request)) }
      await rotateKeys(parts, adminOrigin(request), { algorithms, mode: 'planned' })
      return changed(section)
    },
  })
}

/** The queues of mails, webhooks and other calls. */
export async function deliveryPages(app: FastifyInstance): Promise<void> {
  const section = adminSection('deliveries')

  /** What a kind of jobs is called: receivers of webhooks by their host. */
  function nameOf(kind: string): string {
    const receiver = app.config.current().webhooks.find(({ url }) => kindOf(url) === kind)
    return receiver ? `webhook ${new URL(receiver.url).host}` : kind
  }

  pageRoute(app, {
    path: section,
    operation: 'AdminDeliveries',
    config: ownPages,
    query: Type.Object({ before: uncheckedText('The last job of the previous page.') }),
    summary: 'mails and webhooks',
    description: 'What waits in the queues, and what failed for good.',
    async page(request, reply) {
      const text = textsOf(request)
      const now = app.clock.now()
      const { before } = request.query
      const cursor = /^\d{1,18}$/.test(typedText(before)) ? BigInt(typedText(before)) : null
      const states = [...(await app.outbox.state())].sort(([one], [other]) => (one < other ? -1 : 1))
      const failed = await listFailed(app.database, { before: cursor, limit: take })
      const { shown, nextHref } = pageOf(failed, ({ id }) => `${section}?before=${id}`)
      return sendSection(reply, {
        title: text('admin.deliveries'),
        blocks: [
          rowsOf({
            name: 'queues',
            rows: states.map(([kind, { pending, failed: lost, age }]) =>
              rowOf({
                title: nameOf(kind),
                isFailure: lost > 0,
                details: present<Detail>([
                  text('admin.pending', { count: pending }),
                  text('admin.failed', { count: lost }),
                  pending > 0 && timeOf(new Date(now - age), 'admin.oldest'),
                ]),
              }),
            ),
          }),
          rowsOf({
            ...{ name: 'failures', heading: text('admin.failures'), nextHref },
            rows: shown.map(({ id, kind, attempts, lastError, failedAt, createdAt }) =>
              rowOf({
                title: `${nameOf(kind)} ${id}`,
                isFailure: true,
                details: present<Detail>([
                  lastError,
                  text('account-activity.times', { times: attempts }),
                  timeOf(failedAt ?? createdAt),
                ]),
                action: {
                  action: `${section}/${id}/retry`,
                  label: text('admin.retry'),
                  name: text('admin.action_name', { action: text('admin.retry'), name: String(id) }),
                },
              }),
            ),
          }),
        ],
      })
    },
  })

  formRoute(app, {
    path: `${section}/:id/retry`,
    operation: 'AdminRetry',
    config: ownPages,
    params: Type.Object({ id: idParameter('The id of the job.', '^[1-9][0-9]{0,17}$') }),
    summary: 'try a failed job again',
    description: 'The server runs it within seconds.',
    async send(request) {
      const { id } = request.params
      const origin = adminOrigin(request)
      const isDone = await databaseOf(visitOf(request)).transaction(async (tx) => {
        if ((await retryFailed({ prisma: tx }, { ids: [BigInt(id)] }, origin.now)) === 0) return false
        await recordEvent(tx, origin, { type: 'delivery_retried', userId: null, target: `job:${id}` })
        return true
      })
      if (!isDone) throw notFound()
      return changed(section)
    },
  })
}
