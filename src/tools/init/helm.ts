import type { Answers } from './answers.ts'

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ')

/** Returns the values of the chart, with the configuration of svc. */
export function helmValues({ database }: Answers, configuration: string): string {
  const storage =
    database === 'sqlite'
      ? ['', '# The embedded database, for one replica.', 'replicas: 1', 'persistence: { enabled: true }']
      : []
  return [
    '# Values of the chart helm/svc. The Secret has the files in secrets:',
    '#',
    "#   kubectl create secret generic svc $(printf -- '--from-file=%s ' secrets/*)",
    '#   helm install svc <checkout of svc>/helm/svc --values values.yaml',
    '',
    '# The configuration of svc. config/reference.yaml explains every key.',
    'config:',
    indented(configuration).trimEnd(),
    '',
    'image: { repository: svc } # with your registry, such as registry.example.com/svc',
    '',
    '# Mounts the Secret in /run/secrets/svc.',
    'secret: { name: svc, files: true }',
    ...storage,
    '',
    '# The certificate is in the Secret svc-tls. For the Gateway API, set gateway instead.',
    'ingress: { enabled: true, className: nginx, tlsSecret: svc-tls }',
    '',
  ].join('\n')
}
