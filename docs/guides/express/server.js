import { buildApp } from './app.js'

const { SVC_ISSUER: issuer, SVC_AUDIENCE: audience, PORT = '3000' } = process.env
buildApp({ issuer, audience }).listen(Number(PORT), '127.0.0.1')
