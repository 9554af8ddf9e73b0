// lane: all
// npm run site:tools: installs the generator of the website into a cache in the home directory. `tools/` pins its version.
import { cpSync, existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildInto, runTool, toolFolder } from '../test/support/tool-cache.ts'

const manifests = ['package.json', 'package-lock.json'].map((name) => join(import.meta.dirname, 'tools', name))
const folder = toolFolder('site-tools', manifests)

/** Returns the folder with the packages of the generator, or undefined if it is not installed. */
export const siteTools = (): string | undefined => (existsSync(folder) ? folder : undefined)

if (import.meta.main && !siteTools()) {
  process.stderr.write('installing the generator of the website\n')
  await buildInto(folder, async (work) => {
    for (const file of manifests) cpSync(file, join(work, basename(file)))
    // esbuild and rollup bring their programs as packages, so that no install script has to run.
    await runTool(work, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  })
}
