import type { Answers } from './answers.ts'

/** The address from which svc sees what connects to its published port. */
export const gateway = '172.30.83.1'

/** A fixed network, so that svc can trust the gateway and nothing else. */
const network = `ipam: { config: [{ subnet: 172.30.83.0/24, gateway: ${gateway} }] }`

const service = (owner: string, port: string): string => `services:
  svc:
    image: \${SVC_IMAGE:-svc}
    restart: unless-stopped
    user: "${owner}" # the owner of the secrets
    ports: ["127.0.0.1:\${SVC_PORTS:-${port}}:8000"]
`

const hardening = `    # Longer than svc takes to stop. The image has a health check.
    stop_grace_period: 30s
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
`

const withServices = (
  owner: string,
  port: string,
): string => `# svc with PostgreSQL and Redis, behind a TLS proxy on this machine:
#
#   docker build --tag svc <checkout of svc>
#   docker compose up --detach --wait
#
# Changes of svc.yaml and of the secrets take effect within two seconds. A second replica:
# SVC_PORTS=8000-8001 docker compose up --detach --wait --scale svc=2
name: svc

${service(owner, port)}    environment:
      SVC_CONFIG: /etc/svc/svc.yaml
      REDIS_URL: redis://redis:6379
    # A directory: a mounted file would keep its old content when an editor replaces it.
    volumes: ["./:/etc/svc:ro"]
    depends_on:
      postgres: { condition: service_healthy }
      redis: { condition: service_healthy }
${hardening}    networks: [outside, inside]

  postgres:
    image: postgres:17
    restart: unless-stopped
    environment:
      POSTGRES_USER: svc
      POSTGRES_DB: svc
      POSTGRES_PASSWORD_FILE: /run/secrets/postgres_password
    volumes: ["postgres:/var/lib/postgresql/data"]
    secrets: [postgres_password]
    healthcheck:
      test: [CMD, pg_isready, --username=svc, --dbname=svc, --host=127.0.0.1]
      interval: 5s
      timeout: 5s
      retries: 12
    networks: [inside]

  redis:
    image: redis:8
    restart: unless-stopped
    # Limits and short-lived state of sign-ins must survive a restart and must not be evicted. Only svc can reach the network.
    command: [redis-server, --appendonly, "yes", --maxmemory-policy, noeviction, --protected-mode, "no"]
    volumes: ["redis:/data"]
    healthcheck:
      test: [CMD, redis-cli, ping]
      interval: 5s
      timeout: 5s
      retries: 12
    networks: [inside]

secrets:
  postgres_password: { file: ./secrets/postgres_password }

volumes:
  postgres:
  redis:

networks:
  # For the proxy, outgoing mail and other calls.
  outside: { ${network} }
  inside: { internal: true }
`

const alone = (owner: string, port: string, volumes: string): string => `# svc behind a TLS proxy on this machine:
#
#   docker build --tag svc <checkout of svc>
#   docker compose up --detach --wait
#
# Changes of svc.yaml and of the secrets take effect within two seconds.
name: svc

${service(owner, port)}    environment: { SVC_CONFIG: /etc/svc/svc.yaml }
    # Directories: a mounted file would keep its old content when an editor replaces it.
    volumes: [${volumes}]
${hardening}
networks:
  default: { ${network} }
`

/** Returns compose.yaml. `owner` is the user and group that may read the secrets, such as `1000:1000`. */
export function composeFile({ database, url }: Answers, owner: string): string {
  const port = (url.protocol === 'http:' && url.port) || '8000'
  if (database === 'postgresql') return withServices(owner, port)
  return alone(owner, port, database === 'sqlite' ? '"./:/etc/svc:ro", "./data:/app/data"' : '"./:/etc/svc:ro"')
}
