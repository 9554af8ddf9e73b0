import { randomBytes } from 'node:crypto'
import { join, relative } from 'node:path'
import type { Answers } from './answers.ts'
import { composeFile } from './compose.ts'
import { configuration } from './configuration.ts'
import { helmValues } from './helm.ts'
import { proxyFile } from './proxies.ts'
import { systemdUnit } from './systemd.ts'

/** A file to write. */
export interface PlannedFile {
  /** Path below the directory. */
  path: string
  text: string
  isSecret?: true
}

/** The machine on which the files are. */
export interface Place {
  /** Absolute path of the directory of the files. */
  directory: string
  /** Directory of the installation, for systemd. */
  root: string
  /** User and group that may read the secrets, such as `1000:1000`. */
  owner: string
  /** Returns the value of a secret that exists in the directory, or null. */
  known(name: string): string | null
}

/** Returns the directory of the secrets as svc sees it. */
export function secretsFolder({ deploy }: Answers, { directory }: Pick<Place, 'directory'>): string {
  if (deploy === 'helm') return '/run/secrets/svc'
  if (deploy === 'compose') return '/etc/svc/secrets'
  const folder = join(directory, 'secrets')
  // svc finds relative paths from its working directory, which stays the same when the checkout moves.
  return deploy === 'none' ? relative(process.cwd(), folder) : folder
}

const hasPassword = (text: string): boolean => (URL.parse(text)?.password ?? '') !== ''

/** Returns the secrets by name. Random ones that exist stay. */
function secretsOf({ database, mail }: Answers, { known }: Place): Map<string, string> {
  const secrets = new Map([['svc_secret', known('svc_secret') ?? randomBytes(32).toString('base64')]])
  if (database === 'postgresql') {
    const password = known('postgres_password') ?? randomBytes(24).toString('hex')
    secrets.set('postgres_password', password)
    secrets.set('database_url', `postgresql://svc:${encodeURIComponent(password)}@postgres:5432/svc`)
  } else if (database.startsWith('postgres')) secrets.set('database_url', database)
  if (hasPassword(mail)) secrets.set('mail_url', mail)
  return secrets
}

/** Returns every file that the answers call for. */
export function plannedFiles(answers: Answers, place: Place): PlannedFile[] {
  const { deploy, database } = answers
  const secrets = secretsOf(answers, place)
  const folder = secretsFolder(answers, place)
  const text = configuration(answers, (name) => (secrets.has(name) ? join(folder, name) : null))
  const proxy = proxyFile(answers)
  return [
    ...[...secrets].map(([name, value]) => ({ path: `secrets/${name}`, text: `${value}\n`, isSecret: true as const })),
    { path: 'secrets/.gitignore', text: '*\n' },
    deploy === 'helm' ? { path: 'values.yaml', text: helmValues(answers, text) } : { path: 'svc.yaml', text },
    ...(deploy === 'compose' ? [{ path: 'compose.yaml', text: composeFile(answers, place.owner) }] : []),
    // Docker would create the directory for root.
    ...(deploy === 'compose' && database === 'sqlite' ? [{ path: 'data/.gitignore', text: '*\n' }] : []),
    ...(deploy === 'systemd' ? [{ path: 'svc.service', text: systemdUnit(place) }] : []),
    ...(proxy ? [{ path: proxy.name, text: proxy.text }] : []),
  ]
}
