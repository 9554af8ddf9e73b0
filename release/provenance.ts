import { sha256, sumsOf } from './archive.ts'

interface Facts {
  version: string
  revision: string
  repository: string
  /** The file that pins all packages. */
  lock: string
}

/**
 * Says how the files of a release were made: an in-toto statement with the SLSA provenance of version 1. It names no time and no
 * machine, so that each build of the commit has the same one.
 */
export function provenanceOf(folder: string, { version, revision, repository, lock }: Facts): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: sumsOf(folder).map(([name, sum]) => ({ name, digest: { sha256: sum } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/${revision}/docs/releasing.md`,
        externalParameters: { repository, revision, version, command: `npm run release -- ${version}` },
        internalParameters: { node: process.versions.node },
        resolvedDependencies: [
          { uri: `git+${repository}`, digest: { gitCommit: revision } },
          { name: 'package-lock.json', digest: { sha256: sha256(lock) } },
        ],
      },
      runDetails: { builder: { id: `${repository}/blob/${revision}/release/release.ts` } },
    },
  }
}
