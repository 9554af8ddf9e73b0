// better-auth on PostgreSQL: node server.mjs <port> <database> <origin> <secret> [migrate]. `npm run peers:tools` copies this
// file beside the packages that it imports.
import { createServer } from 'node:http'
import { hash, verify } from '@node-rs/argon2'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import pg from 'pg'

const [port, database, origin, secret, command] = process.argv.slice(2)
/** Hashes passwords as svc does. The default of better-auth is scrypt. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const options = {
  baseURL: origin,
  secret,
  database: new pg.Pool({ connectionString: database }),
  emailAndPassword: {
    enabled: true,
    password: {
      hash: (password) => hash(password, parameters),
      verify: ({ hash: stored, password }) => verify(stored, password),
    },
  },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
}

if (command === 'migrate') await (await getMigrations(options)).runMigrations()
createServer(toNodeHandler(betterAuth(options))).listen(Number(port), '127.0.0.1')
