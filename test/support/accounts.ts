import type { LightMyRequestResponse } from 'fastify'
import { passwordFingerprint } from '../../src/auth/access/password-fingerprint.ts'
import type { TestApp } from './app.ts'
import type { Browser } from './browser.ts'

/** A password that meets the rules. */
export const strongPassword = 'violet engine on the hill'

/** The form of a new account. */
export const registration = (email: string, more: object = {}) => ({
  name: 'Grace Example',
  email,
  password: strongPassword,
  password_confirmation: strongPassword,
  ...more,
})

/** A browser with its CSRF cookie. */
export async function visitor(svc: TestApp, options?: Parameters<TestApp['browser']>[0]): Promise<Browser> {
  const browser = svc.browser(options)
  await browser.get('/svc/csrf-cookie')
  return browser
}

/** The link of the last mail to the address with one, without svc's own address. */
export async function mailedLink(svc: TestApp, address: string): Promise<string> {
  const texts = (await svc.mailbox.to(address)).map(({ text }) => /https?:\/\/\S+/.exec(text)?.[0] ?? '')
  const link = texts.filter((text) => text.includes('signature=')).at(-1)
  if (!link) throw new Error(`No mail to ${address} has a link.`)
  return link.replace('http://localhost:8000', '')
}

/** Removes the password of a user, as if the user signed in only by passkey; the browsers stay signed in. */
export async function removePassword({ database: { prisma } }: TestApp, userId: number): Promise<void> {
  const id = BigInt(userId)
  await prisma.user.update({ where: { id }, data: { password: null } })
  await prisma.session.updateMany({ where: { userId: id }, data: { passwordFingerprint: passwordFingerprint(null) } })
}

/** Requests a password reset, and returns the token of the mail. */
export async function requestReset(svc: TestApp, email: string): Promise<string> {
  await svc.browser().post('/forgot-password', { email }, { 'sec-fetch-site': 'same-origin' })
  return svc.mailbox.find(email, /reset-password\/([0-9a-f]{64})/)
}

/** Requests an API token with a password, from a device with an address of its own. */
export const deviceSignIn = (
  { app }: Pick<TestApp, 'app'>,
  credentials: object,
  remoteAddress = '192.0.2.1',
  headers = {},
): Promise<LightMyRequestResponse> =>
  app.inject({
    method: 'POST',
    url: '/svc/token',
    remoteAddress,
    headers,
    payload: { device_name: 'Phone', ...credentials },
  })
