import { request } from 'node:http'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { Browser, type BrowserOptions } from './browser.ts'

/** Sends requests to a listening process as `app.inject` does to an app; each on its own connection. */
export function sendRequest(url: string, { method = 'GET', url: path, headers = {}, payload }: InjectOptions) {
  const isJson = typeof payload === 'object' && !Buffer.isBuffer(payload)
  const body = isJson ? JSON.stringify(payload) : payload
  const typed = isJson ? { 'content-type': 'application/json', ...headers } : headers
  return new Promise<LightMyRequestResponse>((resolve, reject) => {
    const sent = request(new URL(String(path), url), { method, headers: typed as Record<string, string>, agent: false })
    sent.once('error', reject)
    sent.once('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      answer.once('error', reject)
      answer.once('end', () => {
        const { statusCode = 0, headers: own } = answer
        // Sound: the tests use only these.
        const facts = { statusCode, headers: own, body: text, payload: text, json: () => JSON.parse(text) }
        resolve(facts as unknown as LightMyRequestResponse)
      })
    })
    sent.end(body)
  })
}

/** The server at an address, for helpers that only inject requests into an app. */
export function remoteApp(url: string): FastifyInstance {
  const app = { inject: (sent: InjectOptions) => sendRequest(url, sent) }
  // Sound: its users call nothing else.
  return app as unknown as FastifyInstance
}

/** A browser for a listening process. */
export const remoteBrowser = (url: string, options: BrowserOptions = {}): Browser =>
  new Browser(remoteApp(url), { url, known: false, ...options })

/** Sends a bearer, as a mobile app or another API does. */
export const requestWithBearer = (
  url: string,
  token: string,
  path: string,
  method: 'GET' | 'POST' | 'DELETE' = 'GET',
) => sendRequest(url, { method, url: path, headers: { accept: 'application/json', authorization: `Bearer ${token}` } })
