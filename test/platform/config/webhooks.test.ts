// engine: none
import { table } from './problems.ts'

table('webhooks', [
  ["webhooks: [{ url: https://a.example, secret: s, events: ['*'] }]"],
  ["webhooks: [{ url: a.example, secret: s, events: ['*'] }]", 'webhooks[0].url'],
  [
    'webhooks: [{ url: "https://svc:hunter2@a.example", secret: s, events: [login] }]',
    'webhooks[0].url',
    /without a user name and password$/,
  ],
  ["webhooks: [{ url: https://a.example, events: ['*'] }]", 'webhooks[0].secret', /required/],
  ['webhooks: [{ url: https://a.example, secret: s, events: [] }]', 'webhooks[0].events', /at least one/],
  ['webhooks: [{ url: https://a.example, secret: [], events: [login] }]', 'webhooks[0].secret', /at least one/],
  ['webhooks: [{ url: https://a.example, secret: [a, b], events: [login, user.login, user.password_*, key.rotated] }]'],
  ['webhooks: [{ url: https://a.example, secret: s, events: [user.logn] }]', 'webhooks[0].events[0]', /user\.login\?/],
  ['webhooks: [{ url: https://a.example, secret: s, events: [order.*] }]', 'webhooks[0].events[0]', /webhooks\.md/],
  ['webhooks: [{ url: https://a.example, secret: whsec_abc, events: [login] }]', 'webhooks[0].secret', /24 to 64/],
  [`webhooks: [{ url: https://a.example, secret: whsec_${'A'.repeat(32)}, events: [login] }]`],
  [
    'webhooks: [{ url: https://a.example, secret: s, events: [login] }, { url: https://a.example, secret: t, events: [logout] }]',
    'webhooks[1].url',
    /webhooks\[0\]/,
  ],
])
