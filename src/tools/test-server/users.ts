import type { FastifyInstance } from 'fastify'
import { consumeStep, replaceTwoFactor } from '../../identity/two-factor.ts'
import { createUser } from '../../identity/users.ts'
import { hashPassword } from '../../platform/crypto/password.ts'

interface TestUser {
  email: string
  name: string
  role: string
  verified: boolean
  /** The secret of the authenticator app, in base32. */
  totp_secret: string | null
}

/** The password of all test users. */
const password = 'test password 1'

const user = (email: string, name: string, more: Partial<TestUser> = {}): TestUser => ({
  email,
  name,
  role: 'user',
  verified: true,
  totp_secret: null,
  ...more,
})

/** The users of every test server, as documented in docs/testing.md. */
export const testUsers = [
  user('user@example.com', 'Uma User'),
  user('admin@example.com', 'Ada Admin', { role: 'admin' }),
  user('unverified@example.com', 'Uri Unverified', { verified: false }),
  user('two-factor@example.com', 'Tia Two-Factor', { totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }),
].map((each) => ({ ...each, password }))

export async function createTestUsers({ database, secondFactor, clock }: FastifyInstance): Promise<void> {
  const hash = hashPassword(password)
  const now = clock.now()
  for (const { email, name, role, verified, totp_secret: secret } of testUsers) {
    await database.transaction(async (tx) => {
      const created = await createUser(tx, { email, name, role, verified, password: hash, now })
      if (!created || secret === null) return
      const factor = secondFactor.fresh(created.id, secret)
      await replaceTwoFactor(tx, created.id, null, factor)
      await consumeStep(tx, created.id, { secret: factor.secret, step: 0, confirmedAt: new Date(now) })
    })
  }
}
