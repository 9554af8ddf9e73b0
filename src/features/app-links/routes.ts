import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

const strings = (description: string) => Type.Array(Type.String(), { description })

const AppleAssociation = Type.Object(
  {
    applinks: Type.Optional(
      Type.Object(
        {
          details: Type.Array(
            Type.Object(
              {
                appIDs: strings('The application identifiers.'),
                components: Type.Array(Type.Record(Type.String(), Type.String()), {
                  description: 'The paths that open in the app.',
                }),
              },
              { title: 'AppleLinkDetails', description: 'The links of some apps.' },
            ),
            { description: 'The links of the apps.' },
          ),
        },
        { title: 'AppleAppLinks', description: 'Universal links.' },
      ),
    ),
    webcredentials: Type.Object(
      { apps: strings('The application identifiers.') },
      { title: 'AppleWebCredentials', description: 'The apps that use the credentials of this domain.' },
    ),
  },
  { title: 'AppleAppSiteAssociation', description: 'The associated domains file of Apple.' },
)

const AssetLinks = Type.Array(
  Type.Object(
    {
      relation: strings('What the app may do.'),
      target: Type.Object(
        {
          namespace: Type.String({ description: '`android_app`.' }),
          package_name: Type.String({ description: 'The package name.' }),
          sha256_cert_fingerprints: strings('The fingerprints of the certificates that sign the app.'),
        },
        { title: 'AssetLinkTarget', description: 'The app.' },
      ),
    },
    { title: 'AssetLink', description: 'A statement about an app.' },
  ),
  { description: 'Digital Asset Links of Google.' },
)

/** Cache age of the files. Both platforms cache them for up to a day anyway. */
const cached = 'public, max-age=3600'

const config = { access: { family: 'none' }, alsoAnswers: [404] } as const

/** The files that connect native apps with this domain. */
const appLinks: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/.well-known/apple-app-site-association',
    {
      config,
      schema: {
        operationId: 'getAppleAppSiteAssociation',
        tags: ['Mobile apps'],
        summary: 'The associated domains file for iOS',
        description: 'From `mobile_apps.ios` and `mobile_apps.link_paths`. 404 without apps.',
        response: { 200: AppleAssociation },
      },
    },
    async (_request, reply) => {
      const { ios, link_paths } = app.config.current().mobile_apps
      if (ios.length === 0) throw notFound()
      reply.header('cache-control', cached)
      const components = link_paths.map((path) => ({ '/': path }))
      const applinks = { details: [{ appIDs: [...ios], components }] }
      return { ...(components.length > 0 ? { applinks } : {}), webcredentials: { apps: [...ios] } }
    },
  )

  app.get(
    '/.well-known/assetlinks.json',
    {
      config,
      schema: {
        operationId: 'getAssetLinks',
        tags: ['Mobile apps'],
        summary: 'Digital Asset Links for Android',
        description: 'From `mobile_apps.android`. 404 without apps.',
        response: { 200: AssetLinks },
      },
    },
    async (_request, reply) => {
      const { android, link_paths } = app.config.current().mobile_apps
      if (android.length === 0) throw notFound()
      reply.header('cache-control', cached)
      const links = link_paths.length > 0 ? ['delegate_permission/common.handle_all_urls'] : []
      return android.map(({ package: package_name, sha256_cert_fingerprints }) => ({
        relation: ['delegate_permission/common.get_login_creds', ...links],
        target: {
          namespace: 'android_app',
          package_name,
          sha256_cert_fingerprints: [...sha256_cert_fingerprints],
        },
      }))
    },
  )
}

export default appLinks
