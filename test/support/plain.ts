import type { LightMyRequestResponse } from 'fastify'
import type { TestApp } from './app.ts'
import { Browser } from './browser.ts'

/** A browser without JavaScript: it follows no redirects and submits forms as the page contains them. */
export class ScriptlessBrowser {
  readonly browser: Browser

  constructor(svc: TestApp | Browser) {
    this.browser = svc instanceof Browser ? svc : new Browser(svc.app, { origin: 'http://localhost:8000', xsrf: false })
  }

  open(path: string, headers: Record<string, string | undefined> = {}): Promise<LightMyRequestResponse> {
    return this.browser.get(path, { accept: 'text/html', origin: undefined, referer: undefined, ...headers })
  }

  /** Submits the form with this field on the page at the path: its hidden fields, and the typed values. */
  send(path: string, typed: Record<string, string>, field = Object.keys(typed)[0]): Promise<LightMyRequestResponse> {
    return this.#submit(path, typed, `name="${field}"`)
  }

  /** Submits the form with the button of this id. */
  press(path: string, button: string, typed: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.#submit(path, typed, `id="${button}"`)
  }

  async #submit(path: string, typed: Record<string, string>, part: string): Promise<LightMyRequestResponse> {
    const { body } = await this.open(path)
    const form = [...body.matchAll(/<form method="post" action="([^"]+)"[^>]*>(.*?)<\/form>/gs)].find(([, , inside]) =>
      inside?.includes(part),
    )
    if (!form) throw new Error(`${path} has no form with ${part}: ${body}`)
    const hidden = [...(form[2] ?? '').matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
    const kept = hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')])
    return this.post(form[1] ?? '', { ...Object.fromEntries(kept), ...typed })
  }

  post(path: string, fields: Record<string, string>): Promise<LightMyRequestResponse> {
    return this.browser.send('POST', path, Buffer.from(new URLSearchParams(fields).toString()), {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
    })
  }

  async user(): Promise<number | null> {
    const answer = await this.browser.get('/api/user')
    return answer.statusCode === 200 ? answer.json().id : null
  }
}

/** The values that a person types to sign in. */
export const credentials = (email: string, password = 'correct horse') => ({ email, password })

/** Where the browser goes after a response: by a redirect, or by the page that continues after a form. */
export function nextAddress({ headers }: Pick<LightMyRequestResponse, 'headers'>): string | undefined {
  const [, shown] = /^0; url=(?:http:\/\/localhost:8000(?=\/))?(.*)$/.exec(String(headers.refresh)) ?? []
  return headers.location ?? shown
}

/** The target of a redirect, also of the page that continues after a form. */
export const redirectOf = (answer: LightMyRequestResponse) => [
  answer.headers.refresh === undefined ? answer.statusCode : 303,
  nextAddress(answer),
]
