import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../../contract/command.ts'

/** Returns the command that starts svc from a checkout. */
function startCommand(root: string): string {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts?: { start?: string } }
  if (!scripts?.start) throw new CommandError('--deploy=systemd needs a checkout of svc. Run this command there.')
  return scripts.start
}

/** systemd replaces what follows a percent sign. */
const escaped = (text: string): string => text.replaceAll('%', '%%')

/** Returns the unit that runs svc from the checkout in `root`, with svc.yaml in `directory`. */
export function systemdUnit({ directory, root }: { directory: string; root: string }): string {
  const path = `${root}/node_modules/.bin:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  return `# /etc/systemd/system/svc.service
[Unit]
Description=svc
Wants=network-online.target
After=network-online.target

[Service]
User=svc
WorkingDirectory=${escaped(root)}
StateDirectory=svc
RuntimeDirectory=svc
Environment="SVC_CONFIG=${escaped(join(directory, 'svc.yaml'))}" SVC_RUN_DIR=/run/svc
Environment="PATH=${escaped(path)}"
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
