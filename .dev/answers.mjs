// Compares the answers of a test run with the API description. test/support/answers.ts records them in a folder.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const linesOf = (folder, kind) =>
  new Set(
    readdirSync(folder)
      .filter((file) => file.endsWith(`.${kind}`))
      .flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n')),
  )

/** Described answers that no test provokes, and what each needs. */
const rare = {
  'POST /oauth/authorize 200': 'response_mode=form_post without an interaction, on https',
  'GET /docs 404': 'an installation without development packages',
  'GET /oauth/device 400': 'a repeated parameter',
  'GET /oauth/userinfo 503': 'a valid token while the database is away',
  'POST /oauth/userinfo 503': 'a valid token while the database is away',
  'POST /oauth/userinfo 403': 'a token without openid',
  'GET /auth/{provider}/redirect 422': 'a stateless request without a device name',
  'POST /email/undo/{id}/{signature} 409': 'another account with the old address',
  'POST /auth/{provider}/token 403': 'an unverified address at the provider',
  'POST /auth/{provider}/token 409': 'an account with the same address',
  'POST /auth/{provider}/token 503': 'a provider while the database is away',
}

/** Answers that the description does not allow. */
export const undescribedAnswers = (folder) => [...linesOf(folder, 'violations')]

/**
 * Described answers that no test saw: the statuses of each operation, and the media types of each response. Operations
 * that share a response share its media types.
 */
export async function unseenAnswers(folder) {
  // Loads the whole server.
  const { apiDescription } = await import('./api-description.mjs')
  const { paths, components } = await apiDescription('')
  const seen = linesOf(folder, 'seen')
  const seenStatuses = new Set([...seen].map((line) => line.split(' ').slice(0, 3).join(' ')))
  const unseen = []
  const shared = new Map()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, response] of Object.entries(responses)) {
        const name = `${method.toUpperCase()} ${path} ${status}`
        if (!seenStatuses.has(name) && !(name in rare)) unseen.push(name)
        if (name in rare && !seenStatuses.has(name)) continue
        const key = response.$ref ?? name
        const known = shared.get(key) ?? { types: new Set(), seen: new Set() }
        const { content = {} } = response.$ref ? components.responses[key.split('/').at(-1)] : response
        for (const type of Object.keys(content)) {
          known.types.add(type)
          if (seen.has(`${name} ${type}`)) known.seen.add(type)
        }
        shared.set(key, known)
      }
    }
  }
  const types = [...shared].flatMap(([key, known]) =>
    [...known.types.difference(known.seen)].map((type) => `${key} ${type}`),
  )
  return [...unseen, ...types]
}

// node .dev/answers.mjs <folder>: prints both.
if (process.argv[1] === import.meta.filename) {
  const [folder] = process.argv.slice(2)
  process.stdout.write([...undescribedAnswers(folder), '', ...(await unseenAnswers(folder))].join('\n'))
}
