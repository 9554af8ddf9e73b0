import { join } from 'node:path'
import type { Answers } from './answers.ts'
import type { Place } from './plan.ts'

/** Returns what to do with the files. `link` is the invitation of the administrator, if there is one already. */
export function nextSteps(answers: Answers, place: Pick<Place, 'directory'>, link: string | null): string[] {
  const { admin, url } = answers
  const { start, svc } = commandsOf(answers, place)
  const invite = [
    '# Print the link with which the administrator creates an account:',
    `${svc} user:invite --email=${admin} --role=admin --link`,
  ]
  const open = [`# Then create the account of ${admin}. This link works once:`, `# ${link}`]
  return [...start, ...(link ? open : admin ? invite : []), `# When svc runs, check ${url.origin}:`, `${svc} doctor`]
}

function commandsOf({ deploy }: Answers, { directory }: Pick<Place, 'directory'>): { start: string[]; svc: string } {
  const file = join(directory, 'svc.yaml')
  const variable = directory === process.cwd() ? '' : `SVC_CONFIG=${file} `
  if (deploy === 'compose') {
    const compose = `docker compose --project-directory ${directory}`
    const start = ['# In the checkout of svc:', 'docker build --tag svc .', `${compose} up --detach --wait`]
    return { start, svc: `${compose} exec svc svc` }
  }
  if (deploy === 'helm') {
    const start = [
      `kubectl create secret generic svc $(printf -- '--from-file=%s ' ${join(directory, 'secrets')}/*)`,
      '# In the checkout of svc, when trust_proxy in values.yaml has the addresses of your ingress controller:',
      `helm install svc helm/svc --values ${join(directory, 'values.yaml')}`,
    ]
    return { start, svc: 'kubectl exec deploy/svc -- svc' }
  }
  if (deploy === 'systemd') {
    const start = [
      'useradd --system --no-create-home svc',
      `chown -R svc: ${join(directory, 'secrets')}`,
      `cp ${join(directory, 'svc.service')} /etc/systemd/system/ && systemctl enable --now svc`,
    ]
    return { start, svc: `sudo -u svc SVC_CONFIG=${file} SVC_RUN_DIR=/run/svc npm run --silent svc --` }
  }
  return { start: [`${variable}npm start`], svc: `${variable}npm run --silent svc --` }
}
