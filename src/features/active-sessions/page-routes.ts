import type { FastifyPluginAsync } from 'fastify'
import { callerOf } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { signOut } from '../../auth/sign-in/sign-in.ts'
import { browserName } from '../../identity/browser-name.ts'
import { addAccountPages, done, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { continuing } from '../../pages/after-form.ts'
import { formPage, formRoute, pageRoute } from '../../pages/form-page.ts'
import { signedOutPage } from '../../pages/links.ts'
import { endOne, endOthers, forgetDevice, ownDevices, ownSessions } from './manage.ts'
import { DeviceParams, SessionParams } from './params.ts'
import type { ListedDevice, ListedSession } from './store.ts'

const section = sectionPath('sessions')
const othersPath = `${section}/others`
const devicesPath = `${section}/devices`

const shown = ({ ip_address, user_agent, last_seen_at, bound }: Omit<ListedDevice, 'id'>) => ({
  browser: browserName(user_agent ?? ''),
  ipAddress: ip_address,
  usedAt: last_seen_at,
  isBound: bound,
})

function stateOf({ current, impersonated }: ListedSession): 'current' | 'administrator' | 'signed_in' {
  if (impersonated) return 'administrator'
  return current ? 'current' : 'signed_in'
}

/** The section with the user's sessions and remembered devices. */
const sessionPages: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'sessions')

  pageRoute(app, {
    path: section,
    operation: 'Sessions',
    config: ownAccount,
    summary: 'your devices',
    description: 'Lists sessions, and remembered devices without one.',
    async page(request, reply) {
      const sessions = (await ownSessions(visitOf(request))).map((session) => ({
        ...shown(session),
        state: stateOf(session),
        endAction: `${section}/${session.id}/end`,
      }))
      const remembered = (await ownDevices(visitOf(request))).map((device) => ({
        ...shown(device),
        state: 'remembered' as const,
        endAction: `${devicesPath}/${device.id}/end`,
      }))
      const devices = [...sessions, ...remembered]
      const hasOthers = devices.some(({ state }) => state !== 'current')
      return reply.page('account-sessions', { devices, othersHref: hasOthers ? othersPath : null })
    },
  })

  formRoute(app, {
    path: `${section}/:id/end`,
    operation: 'SessionEnd',
    config: ownAccount,
    params: SessionParams,
    summary: 'sign out one device',
    description: 'Like `DELETE /user/sessions/{id}`.',
    response: { 200: continuing },
    next: 'To the section, or from this device to the start page.',
    async send(request, reply) {
      const { id } = request.params
      await endOne(visitOf(request), id)
      if (id !== callerOf(request).credentialId) return done(section, 'session_ended')
      await signOut(request, reply)
      return signedOutPage(app.config.current())
    },
  })

  formRoute(app, {
    path: `${devicesPath}/:id/end`,
    operation: 'DeviceEnd',
    config: ownAccount,
    params: DeviceParams,
    summary: 'forget a remembered device',
    description: 'The device must sign in again.',
    next: 'To the section.',
    async send(request) {
      await forgetDevice(visitOf(request), BigInt(request.params.id))
      return done(section, 'session_ended')
    },
  })

  formPage(app, {
    path: othersPath,
    operation: 'OtherSessions',
    config: { ...ownAccount, recentPassword: () => true },
    show: {
      summary: 'sign out all other devices',
      description: 'Asks for the password first.',
      page: (_request, reply) => reply.page('account-sessions-others', { action: othersPath, backHref: section }),
    },
    submit: {
      summary: 'sign out all other devices',
      description: 'Like `DELETE /user/other-sessions`, after a recent confirmation in place of the password.',
      next: 'To the section.',
      async send(request) {
        await endOthers(visitOf(request))
        return done(section, 'sessions_ended')
      },
    },
  })
}

export default sessionPages
