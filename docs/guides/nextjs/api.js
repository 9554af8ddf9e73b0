import { guard } from '@svc/guard/fetch'

export const api = guard({ issuer: process.env.SVC_ISSUER, audience: process.env.SVC_AUDIENCE })
