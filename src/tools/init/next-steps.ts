import { join } from 'node:path'
import type { Answers } from './answers.ts'
import type { Place } from './plan.ts'
import { proxyFile } from './proxies.ts'

/** Quotes a word for a shell. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** Returns what to do with the files. `link` is the invitation of the administrator, if there is one already. */
export function nextSteps(answers: Answers, place: Pick<Place, 'directory' | 'root'>, link: string | null): string[] {
  const { admin, url } = answers
  const { start, svc } = commandsOf(answers, place)
  const invite = [
    '# Print the link with which the administrator creates an account:',
    `${svc} user:invite ${quoted(`--email=${admin}`)} --role=admin --link`,
  ]
  const open = [`# Then create the account of ${admin}. This link works once:`, `# ${link}`]
  const proxy = proxyFile(answers)
  return [
    ...start,
    ...(proxy ? [`# Add ${proxy.name} to the configuration of ${answers.proxy}, and reload it.`] : []),
    ...(link ? open : admin ? invite : []),
    `# When svc runs, check ${url.origin}:`,
    `${svc} doctor`,
  ]
}

function commandsOf({ deploy }: Answers, { directory, root }: Pick<Place, 'directory' | 'root'>) {
  // In a container, the directory has another name than outside.
  const isHere = directory === process.cwd()
  const path = (name: string) => (isHere ? name : quoted(join(directory, name)))
  if (deploy === 'compose') {
    const compose = isHere ? 'docker compose' : `docker compose --project-directory ${quoted(directory)}`
    const start = [
      '# In a checkout of svc:',
      'docker build --tag svc .',
      '# In this directory:',
      `${compose} up --detach --wait`,
    ]
    return { start, svc: `${compose} exec svc svc` }
  }
  if (deploy === 'helm') {
    const start = [
      '# Push the image to your registry. Set image.repository and trust_proxy in values.yaml.',
      `kubectl create secret generic svc $(printf -- '--from-file=%s ' ${path('secrets')}/*)`,
      `helm install svc ${quoted(join(root, 'helm/svc'))} --values ${path('values.yaml')}`,
    ]
    return { start, svc: 'kubectl exec deploy/svc -- svc' }
  }
  if (deploy === 'systemd') {
    const start = [
      'sudo useradd --system --no-create-home svc',
      `sudo chown -R svc: ${path('secrets')}`,
      `sudo cp ${path('svc.service')} /etc/systemd/system/ && sudo systemctl enable --now svc`,
      `# In ${root}:`,
    ]
    const file = quoted(join(directory, 'svc.yaml'))
    return { start, svc: `sudo -u svc SVC_CONFIG=${file} SVC_RUN_DIR=/run/svc npm run --silent svc --` }
  }
  const variable = isHere ? '' : `SVC_CONFIG=${path('svc.yaml')} `
  return { start: [`${variable}npm start`], svc: `${variable}npm run --silent svc --` }
}
