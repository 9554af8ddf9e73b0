import { CommandError, type Terminal } from '../../contract/command.ts'
import { ConfigError } from '../../platform/config/config-error.ts'
import { isOrigin } from '../../platform/config/formats.ts'
import { type Loaded, loadConfig } from '../../platform/config/load.ts'
import type { Config } from '../../platform/config/schema.ts'
import { reasonOf } from '../../platform/dependencies.ts'
import { type Check, failure, ok, warning } from './check.ts'
import { checkClock, checkTls } from './connection.ts'
import { checkDatabase, checkMail, checkRedis, checkTrust } from './dependencies.ts'
import { checkForgedAddress } from './forged-address.ts'
import { probe } from './probe.ts'
import { checkCookies, checkDiscovery, checkGuard, checkHeaders, guarded } from './responses.ts'

interface Deployment {
  /** The address of the deployment. Default: `app.url` of the file. */
  address: string | undefined
  /** The configuration file of the deployment. */
  file: string | undefined
}

/** Checks a deployment and prints the results. */
export async function doctor({ print }: Terminal, deployment: Deployment, json?: true): Promise<void> {
  const { file } = deployment
  // Without arguments, the deployment is the one that this environment configures.
  const isOwn = deployment.address === undefined
  const { loaded, checks: ofFile } = file === undefined && !isOwn ? { loaded: null, checks: [] } : read(file)
  const address = deployment.address ?? loaded?.config.app.url
  if (address !== undefined && !isOrigin(address))
    throw new CommandError('<url> must be an http or https origin without a path, such as https://auth.example.com.')
  const url = address === undefined ? null : new URL(address)
  const checks = [
    ...ofFile,
    ...(loaded && url ? checkAddress(url, loaded) : []),
    ...(url ? await checkOutside(url, loaded) : []),
    ...(loaded ? await checkServices(loaded.config, { isHere: true }) : []),
  ]
  const isHealthy = checks.every(({ status }) => status !== 'error')
  if (json) print(JSON.stringify({ url: url?.origin ?? null, ok: isHealthy, checks }))
  else for (const check of checks) print(lineOf(check))
  if (!isHealthy) process.exitCode = 1
}

/** Returns a result as one line of text. */
export const lineOf = ({ check, status, message, key }: Check): string =>
  `${status.padEnd(7)}  ${check.padEnd(13)}  ${message}${key === null || status === 'ok' ? '' : ` See ${key}.`}`

function read(file: string | undefined): { loaded: Loaded | null; checks: Check[] } {
  try {
    const loaded = loadConfig({ file })
    const warnings = loaded.warnings.map((text) => warning('configuration', text))
    return {
      loaded,
      checks:
        warnings.length > 0
          ? warnings
          : [ok('configuration', `${loaded.file ?? 'No configuration file (all defaults)'} is valid.`)],
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const checks = error.message.split('\n').map((line, index) => {
      return failure('configuration', line, error.problems[index]?.key || null)
    })
    return { loaded: null, checks }
  }
}

function checkAddress(url: URL, { config }: Loaded): Check[] {
  if (config.app.url === url.origin) return []
  return [failure('configuration', `app.url is ${config.app.url}, but the deployment is at ${url.origin}.`, 'app.url')]
}

async function checkOutside(url: URL, loaded: Loaded | null): Promise<Check[]> {
  const before = Date.now()
  const live = await probe(`${url.origin}/health/live`).catch((error: unknown) => error)
  const after = Date.now()
  if (live instanceof Error || !isAnswer(live))
    return [failure('reachable', `${url.origin} cannot be reached: ${reasonOf(live)}.`, 'app.url')]
  const tls = checkTls(url, live, after)
  if (live.status !== 200) {
    const message = `/health/live answers ${live.status} instead of 200. Does the proxy pass requests to svc?`
    return [tls, failure('reachable', message)]
  }
  return [
    tls,
    ok('reachable', `${url.origin} answers.`),
    ...(await guarded('ready', () => checkReady(url))),
    ...(await guarded('headers', () => checkHeaders(url))),
    ...(await guarded('discovery', () => checkDiscovery(url))),
    ...(await guarded('cookies', () => checkCookies(url))),
    ...(await guarded('proxy', () => checkForgedAddress(url, loaded?.config ?? null))),
    ...(loaded ? await guarded('guard', () => checkGuard(url, loaded.config)) : []),
    checkClock(live, before, after),
  ]
}

const isAnswer = (value: unknown): value is Awaited<ReturnType<typeof probe>> =>
  typeof value === 'object' && value !== null && 'status' in value

async function checkReady(url: URL): Promise<Check[]> {
  const { status } = await probe(`${url.origin}/health/ready`)
  if (status === 200) return [ok('ready', 'svc is ready, and its database answers.')]
  return [failure('ready', `/health/ready answers ${status}. Is the database of svc available?`, 'database.url')]
}

/** Checks what a configuration names. `isHere`: this machine reaches the same database and Redis as svc. */
export const checkServices = async (config: Config, { isHere }: { isHere: boolean }): Promise<Check[]> => [
  ...checkTrust(config),
  ...(isHere ? [...(await checkDatabase(config)), ...(await checkRedis(config))] : []),
  ...(await checkMail(config)),
]
