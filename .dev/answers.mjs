// Compares the answers of a test run with the API description. test/support/answers.ts records them in a folder.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const linesOf = (folder, kind) =>
  new Set(
    readdirSync(folder)
      .filter((file) => file.endsWith(`.${kind}`))
      .flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n')),
  )

/** Answers that the description does not allow. */
export const undescribedAnswers = (folder) => [...linesOf(folder, 'violations')]

/**
 * Returns described answers that no test received: statuses of operations, and media types of responses. If operations share
 * a response, a test of one operation counts for the media types of all.
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
        if (!seenStatuses.has(name)) unseen.push(name)
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
