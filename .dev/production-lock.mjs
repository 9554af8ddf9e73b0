/**
 * The manifest and lock of the packages that the server needs. `npm ci --omit=dev` installs more: optional peers too, and
 * those of @prisma/client (Prisma's own tool and its editor) are four times the size of the server. npm rejects the result
 * if a required package is missing. With `node`, they include Node itself, for a machine whose Node is too old. Without
 * `traces`, they lack the packages that only tracing loads: a third of all files.
 */
export function productionPackages(manifest, lock, { node = false, traces = true } = {}) {
  const { name, version, description, license, type, engines, bin } = manifest
  const isWanted = ([dependency]) => traces || !/^@opentelemetry\/|^@fastify\/otel$/.test(dependency)
  const dependencies = Object.fromEntries(Object.entries(manifest.dependencies).filter(isWanted))
  const wanted = node ? { dependencies, optionalDependencies: manifest.optionalDependencies } : { dependencies }
  const kept = new Set()
  const visit = (place, entry) => {
    for (const name of neededBy(entry)) {
      const found = resolvePackage(lock.packages, place, name)
      if (found === undefined || kept.has(found)) continue
      kept.add(found)
      visit(found, lock.packages[found])
    }
  }
  visit('', wanted)

  const entries = Object.entries(lock.packages).filter(([place]) => kept.has(place))
  const root = { name, version, license, engines, bin, ...wanted }
  return {
    manifest: { name, version, description, license, private: true, type, engines, bin, ...wanted },
    lock: { ...lock, packages: { '': root, ...Object.fromEntries(entries) } },
  }
}

function neededBy({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** Resolves a package as Node does: in the folder of the importer, or in a parent folder. */
function resolvePackage(packages, place, name) {
  for (let folder = place; ; ) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (candidate in packages) return candidate
    if (folder === '') return undefined
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
  }
}
