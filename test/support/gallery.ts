import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { features } from '../../src/app/feature-list.ts'
import assets from '../../src/features/assets/routes.ts'
import errorReference from '../../src/features/error-reference/routes.ts'
import { addPages } from '../../src/pages/pages.ts'
import { textsOf } from '../../src/pages/texts.ts'
import { type Settings, testConfig } from './app.ts'
import { accountStates } from './gallery-account.ts'
import { adminStates } from './gallery-admin.ts'
import { errorStates, hostileErrors } from './gallery-errors.ts'
import { oauthStates } from './gallery-oauth.ts'
import { hostile, long } from './gallery-parts.ts'
import { signInStates } from './gallery-sign-in.ts'
import { signUpStates } from './gallery-sign-up.ts'

/** Each page in each of its states. */
const states: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  ...signInStates,
  ...signUpStates,
  ...oauthStates,
  ...accountStates,
  ...adminStates,
  ...errorStates,
  'logged-out-impersonated': (reply) => reply.page('logged-out', { href: '/' }),
  message: (reply) => {
    const text = textsOf(reply.request)
    return reply.page('message', {
      title: text('undo-email.done_title'),
      message: text('undo-email.done'),
      link: { href: '/', label: text('undo-email.new_password') },
    })
  },
  'message-hostile': (reply) =>
    reply.page('message', { title: hostile, message: hostile + long, link: { href: hostile, label: hostile } }),
  diagnose: (reply) =>
    reply.page('diagnose', {
      title: 'Diagnosis',
      url: hostile,
      findings: [
        { check: 'origin', ok: true, message: 'The page at http://localhost:5173 is in the stateful list.', key: null },
        { check: 'cors', ok: false, message: hostile + long, key: 'cors.origins' },
      ],
    }),
  'test-login': (reply) => reply.page('test-login', { errors: hostileErrors }),
  'test-tokens': (reply) =>
    reply.page('test-tokens', {
      flash: { message: hostile, token: `1|${long}` },
      tokens: [
        { id: 1, name: 'test-token' },
        { id: 2, name: hostile + long },
      ],
    }),
}

/** Every page in every state, at a descriptive path. */
export const galleryPaths = [...Object.keys(states).map((name) => `/${name}`), '/errors']

/** Serves every page in every state without a backend; closed with the test. */
export async function buildGallery(
  t: Pick<Test, 'teardown'>,
  settings: Settings = {},
  onLog?: (line: string) => void,
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, logger: onLog ? { stream: { write: onLog } } : false })
  app.decorate('config', testConfig(settings))
  app.decorate('features', features)
  app.decorate('clock', { now: () => Date.parse('2026-11-23T10:00:00Z') } as FastifyInstance['clock'])
  // Pages have a language switch only where a session protects its form.
  app.decorate('sessions', { xsrf: { token: () => '' } } as unknown as FastifyInstance['sessions'])
  app.decorateRequest('session', {
    getter(this: FastifyRequest) {
      const impersonation = this.url.endsWith('impersonated')
        ? {
            impersonation: { by: 1, until: 0, session: '' },
            state: { row: { user: { name: hostile + long } } },
          }
        : {}
      return { sessionId: 'gallery', ...impersonation } as never
    },
  })
  await app.register(assets)
  await app.register(errorReference)
  await app.register(async (scope) => {
    await addPages(scope)
    for (const [name, show] of Object.entries(states)) scope.get(`/${name}`, async (_request, reply) => show(reply))
  })
  t.teardown(() => app.close())
  return app
}
