import { buildApp } from './app.js'

const { SVC_ISSUER: issuer, SVC_AUDIENCE: audience, PORT = '3000' } = process.env
const app = await buildApp({ issuer, audience })
await app.listen({ host: '127.0.0.1', port: Number(PORT) })
