import { join } from 'node:path'
import { CommandError } from '../../contract/command.ts'
import { ConfigError } from '../../platform/config/config-error.ts'
import { CurrentConfig } from '../../platform/config/current.ts'
import { printed } from '../../platform/config/findings.ts'
import { findingsOf, type Loaded, loadConfig, parseConfig } from '../../platform/config/load.ts'
import { resolveConfig } from '../../platform/config/resolve.ts'
import type { Settings } from '../../platform/config/schema.ts'
import { randomId } from '../../platform/crypto/random.ts'

interface Given {
  /** The configuration file, if any. The default file and the environment do not count without it. */
  file: string | undefined
  port: number
  /** The temporary directory. */
  folder: string
}

const refusal = 'svc test-server does not run with app.environment: production. Its passwords are public.'

/** Throws if this environment is one of production, whatever the test server would use of it. */
function refuseProduction(): void {
  try {
    if (loadConfig().config.app.environment === 'production') throw new CommandError(refusal)
  } catch (error) {
    if (error instanceof CommandError || (error instanceof ConfigError && error.isForProduction))
      throw new CommandError(refusal)
  }
}

const loaded = (file: string | undefined): Pick<Loaded, 'config' | 'settings' | 'placeOf'> =>
  file === undefined
    ? parseConfig({ text: '', file: 'default configuration', env: {}, cwd: process.cwd() })
    : loadConfig({ file })

/** The configuration of a test server: that of the file, but on loopback, with a temporary database and no services. */
export function testSettings({ file, port, folder }: Given): CurrentConfig {
  refuseProduction()
  const { config: original, settings, placeOf } = loaded(file)
  if (original.app.environment === 'production') throw new CommandError(refusal)
  const { app, server, database, session, metrics, passkeys, redis } = settings
  const changed: Settings = {
    ...settings,
    app: { ...app, url: `http://localhost:${port}`, secret: randomId() + randomId(), environment: 'development' },
    server: { ...server, host: '127.0.0.1', port, trust_proxy: [], drain: 0 },
    database: { ...database, url: `file:${join(folder, 'svc.db')}` },
    redis: { ...redis, url: null },
    mail: { ...settings.mail, url: 'log:' },
    audit: { ...settings.audit, export: null },
    // Cookies of another domain, or only for https, would not arrive.
    session: {
      ...session,
      domain: null,
      secure: 'auto',
      same_site: session.same_site === 'none' ? 'lax' : session.same_site,
    },
    passkeys: { ...passkeys, rp_id: null, origins: null },
    metrics: { ...metrics, port: null },
  }
  const config = resolveConfig(changed, process.cwd(), placeOf)
  const problems = findingsOf(config).map(({ path, message }) => ({
    file: placeOf(path)?.file ?? file ?? '',
    line: placeOf(path)?.line ?? 0,
    key: printed(path),
    message: `${message} (in a test server, on plain http)`,
  }))
  if (problems.length > 0) throw new ConfigError(problems)
  return new CurrentConfig(config)
}
