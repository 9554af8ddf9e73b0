/** Outlines of the icons in a square of 24 units. The stylesheet sets the stroke. */
const outlines = {
  account: 'M4 11l8-7 8 7M6 9.5V20h12V9.5M10 20v-5h4v5',
  language: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM3 12h18M12 3c3.4 4.6 3.4 13.4 0 18M12 3c-3.4 4.6-3.4 13.4 0 18',
  profile: 'M12 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM5 20c.7-3.4 3.5-5.5 7-5.5s6.3 2.1 7 5.5',
  password: 'M5 11h14v9H5ZM8 11V8a4 4 0 0 1 8 0v3M12 14.5v2',
  'two-factor': 'M12 3l7.5 3v5.5c0 4.6-3 8-7.5 9.5-4.5-1.5-7.5-4.9-7.5-9.5V6ZM9 12l2.2 2.2 4-4.2',
  passkeys: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM11 12.2 19 4M15.5 7.5l3 3',
  sessions: 'M3.5 5h17v11h-17ZM9 20h6M12 16v4',
  applications: 'M4 4h6v6H4ZM14 4h6v6h-6ZM4 14h6v6H4ZM14 14h6v6h-6Z',
  tokens: 'M8 8l-4 4 4 4M16 8l4 4-4 4M13.5 6l-3 12',
  'personal-tokens': 'M3.5 6h17v12h-17ZM7 10h6M7 14h10',
  providers:
    'M10.5 13.5a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7L12 6.3M13.5 10.5a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7L12 17.7',
  activity: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2',
  data: 'M12 4v11M7.5 11 12 15.5 16.5 11M5 20h14',
  users:
    'M9 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM3 19c.5-3 2.9-5 6-5s5.5 2 6 5M15.5 5.4a3 3 0 0 1 0 5.3M17 14.3c2.2.6 3.7 2.3 4 4.7',
  invitations: 'M3.5 6h17v12h-17ZM4 6.5l8 6.5 8-6.5',
  groups: 'M12 4l8 4-8 4-8-4ZM4 12l8 4 8-4M4 16l8 4 8-4',
  events: 'M4 6h16M4 12h16M4 18h10',
  clients: 'M3.5 5h17v14h-17ZM3.5 9.5h17M6.5 7.3h.1',
  keys: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM11 12.2 19 4M17 6l3 3',
  guard: 'M12 3l7.5 3v5.5c0 4.6-3 8-7.5 9.5-4.5-1.5-7.5-4.9-7.5-9.5V6Z',
  deliveries: 'M4 12l16-7-5 15-3.5-6.5ZM11.5 13.5 20 5',
  configuration: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
} as const satisfies Record<string, string>

export type IconName = keyof typeof outlines

/** Returns an icon as an `<svg>` element that screen readers skip. */
export const icon = (name: IconName): string =>
  `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${outlines[name]}"/></svg>`
