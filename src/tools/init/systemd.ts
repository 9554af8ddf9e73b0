import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../contract/command.ts'

/** Returns the command that starts svc from a checkout. */
function startCommand(root: string): string {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts?: { start?: string } }
  if (!scripts?.start) throw new CommandError('--deploy=systemd needs a checkout of svc. Run this command there.')
  return scripts.start
}

/** Returns the unit that runs svc from the checkout in `root`, with svc.yaml in `directory`. */
export function systemdUnit({ directory, root }: { directory: string; root: string }): string {
  return `# /etc/systemd/system/svc.service
[Unit]
Description=svc
Wants=network-online.target
After=network-online.target

[Service]
User=svc
WorkingDirectory=${root}
StateDirectory=svc
RuntimeDirectory=svc
Environment=SVC_CONFIG=${join(directory, 'svc.yaml')} SVC_RUN_DIR=/run/svc PATH=${root}/node_modules/.bin:/usr/bin:/bin
ExecStart=/usr/bin/env ${startCommand(root)}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartPreventExitStatus=78
TimeoutStopSec=30
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
`
}
