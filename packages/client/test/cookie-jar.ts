import { CookieJar } from 'tough-cookie'

/** A fetch that keeps cookies, as the native one of a browser does, and records its requests. */
export function fetchWithJar() {
  const jar = new CookieJar()
  const sent: string[] = []
  const send: typeof fetch = async (input, init) => {
    const url = String(input)
    sent.push(`${init?.method} ${new URL(url).pathname}`)
    const headers = new Headers(init?.headers)
    headers.set('cookie', await jar.getCookieString(url))
    const response = await fetch(url, { ...init, headers })
    for (const cookie of response.headers.getSetCookie()) await jar.setCookie(cookie, url)
    return response
  }
  const cookie = async (url: string, name: string) => (await jar.getCookies(url)).find(({ key }) => key === name)
  return { jar, sent, fetch: send, cookie }
}
