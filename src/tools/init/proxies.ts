import type { Answers } from './answers.ts'

// The sites equal those of docs/proxies, whose tests run them.

const caddy = (host: string): string => `${host} {
\treverse_proxy 127.0.0.1:8000
}
`

const nginx = (host: string): string => `upstream svc {
  server 127.0.0.1:8000;
  keepalive 16;
}

server {
  listen 443 ssl http2;
  server_name ${host};
  ssl_certificate /etc/ssl/${host}.crt;
  ssl_certificate_key /etc/ssl/${host}.key;
  # For long addresses, many cookies, and the headers of svc's responses.
  large_client_header_buffers 4 16k;
  proxy_buffer_size 32k;
  proxy_buffers 4 32k;

  location / {
    proxy_pass http://svc;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
  }
}
`

const traefik = (host: string): string => `# Dynamic configuration, for the file provider.
http:
  routers:
    svc:
      entryPoints: [websecure]
      rule: Host(\`${host}\`)
      service: svc
      tls: {}
  services:
    svc:
      loadBalancer:
        servers:
          - url: http://127.0.0.1:8000
`

const note = '# svc behind this proxy. docs/proxies has files that also guard other services.\n'

/** Returns the file of the proxy in front of svc. */
export function proxyFile({ proxy, url: { hostname } }: Answers): { name: string; text: string } | null {
  if (proxy === 'none') return null
  if (proxy === 'caddy') return { name: 'Caddyfile', text: note + caddy(hostname) }
  if (proxy === 'nginx') return { name: 'nginx.conf', text: note + nginx(hostname) }
  return { name: 'traefik.yml', text: note + traefik(hostname) }
}
