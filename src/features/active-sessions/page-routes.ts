import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '../../auth/access/caller.ts'
import { signOut } from '../../auth/sign-in/sign-in.ts'
import { browserName } from '../../identity/browser-name.ts'
import {
  addAccountPages,
  ownAccount,
  sectionAnswers,
  sectionPath,
  submitForm,
} from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { startPage } from '../../pages/links.ts'
import { Type } from '../../platform/json-schema.ts'
import { endOne, endOthers, forgetDevice, ownDevices, ownSessions } from './manage.ts'
import { DeviceParams, SessionParams } from './params.ts'
import type { ListedDevice } from './store.ts'

const section = sectionPath('sessions')
const othersPath = `${section}/others`
const devicesPath = `${section}/devices`

const shown = ({ ip_address, user_agent, last_seen_at }: Omit<ListedDevice, 'id'>) => ({
  browser: browserName(user_agent ?? ''),
  ipAddress: ip_address,
  usedAt: last_seen_at,
})

/** The section with the user's sessions and remembered devices. */
const sessionPages: FastifyPluginAsyncTypebox = async (app) => {
  await addAccountPages(app, 'sessions')

  app.get(
    section,
    {
      config: ownAccount,
      schema: {
        operationId: 'showSessions',
        tags: ['Account pages'],
        summary: 'Page: your devices',
        description: 'Lists sessions, and remembered devices without one.',
        response: sectionAnswers,
      },
    },
    async (request, reply) => {
      const sessions = (await ownSessions(request)).map((session) => ({
        ...shown(session),
        state: session.current ? ('current' as const) : ('signed_in' as const),
        endAction: `${section}/${session.id}/end`,
      }))
      const remembered = (await ownDevices(request)).map((device) => ({
        ...shown(device),
        state: 'remembered' as const,
        endAction: `${devicesPath}/${device.id}/end`,
      }))
      const devices = [...sessions, ...remembered]
      const hasOthers = devices.some(({ state }) => state !== 'current')
      return reply.page('account-sessions', { devices, othersHref: hasOthers ? othersPath : null })
    },
  )

  app.post(
    `${section}/:id/end`,
    {
      config: ownAccount,
      schema: {
        operationId: 'submitSessionEnd',
        tags: ['Account pages'],
        summary: 'Form: sign out one device',
        description: 'Like `DELETE /user/sessions/{id}`.',
        params: SessionParams,
        response: {
          200: continuing,
          303: Type.Null({ description: 'To the section, or from this device to the start page.' }),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      if (id !== callerOf(request).credentialId) {
        return submitForm(reply, section, {
          change: async () => {
            await endOne(request, id)
            return 'session_ended'
          },
        })
      }
      await endOne(request, id)
      await signOut(request, reply)
      return reply.redirect(startPage(app.config.current()), 303)
    },
  )

  app.post(
    `${devicesPath}/:id/end`,
    {
      config: ownAccount,
      schema: {
        operationId: 'submitDeviceEnd',
        tags: ['Account pages'],
        summary: 'Form: forget a remembered device',
        description: 'The device must sign in again.',
        params: DeviceParams,
        response: { 303: Type.Null({ description: 'To the section.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, section, {
        change: async () => {
          await forgetDevice(request, BigInt(request.params.id))
          return 'session_ended'
        },
      }),
  )

  app.get(
    othersPath,
    {
      config: { ...ownAccount, recentPassword: () => true },
      schema: {
        operationId: 'showOtherSessions',
        tags: ['Account pages'],
        summary: 'Page: sign out all other devices',
        description: 'Asks for the password first.',
        response: sectionAnswers,
      },
    },
    async (_request, reply) => reply.page('account-sessions-others', { action: othersPath, backHref: section }),
  )

  app.post(
    othersPath,
    {
      config: { ...ownAccount, recentPassword: () => true },
      schema: {
        operationId: 'submitOtherSessions',
        tags: ['Account pages'],
        summary: 'Form: sign out all other devices',
        description: 'Like `DELETE /user/other-sessions`, after a recent confirmation in place of the password.',
        response: { 303: Type.Null({ description: 'To the section.' }) },
      },
    },
    (request, reply) =>
      submitForm(reply, section, {
        change: async () => {
          await endOthers(request)
          return 'sessions_ended'
        },
      }),
  )
}

export default sessionPages
