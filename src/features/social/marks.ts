import type { IconDefinition } from '@fortawesome/free-brands-svg-icons'
import { faApple } from '@fortawesome/free-brands-svg-icons/faApple'
import { faBitbucket } from '@fortawesome/free-brands-svg-icons/faBitbucket'
import { faDiscord } from '@fortawesome/free-brands-svg-icons/faDiscord'
import { faFacebook } from '@fortawesome/free-brands-svg-icons/faFacebook'
import { faGithub } from '@fortawesome/free-brands-svg-icons/faGithub'
import { faGitlab } from '@fortawesome/free-brands-svg-icons/faGitlab'
import { faLinkedin } from '@fortawesome/free-brands-svg-icons/faLinkedin'
import { faSlack } from '@fortawesome/free-brands-svg-icons/faSlack'
import { faXTwitter } from '@fortawesome/free-brands-svg-icons/faXTwitter'

/** Logo in SVG. */
export interface Mark {
  viewBox: string
  /** A shape without a colour has that of the text. */
  shapes: readonly { path: string; color: string | null }[]
}

/** Logos whose owners require several colours. */
const colored: Readonly<Record<string, Mark>> = {
  // https://developers.google.com/identity/branding-guidelines
  google: {
    viewBox: '0 0 48 48',
    shapes: [
      {
        color: '#ea4335',
        path: 'M24 9.5c3.54 0 6.71 1.22 9.21 3.6l6.85-6.85C35.9 2.38 30.47 0 24 0 14.62 0 6.51 5.38 2.56 13.22l7.98 6.19C12.43 13.72 17.74 9.5 24 9.5z',
      },
      {
        color: '#4285f4',
        path: 'M46.98 24.55c0-1.57-.15-3.09-.38-4.55H24v9.02h12.94c-.58 2.96-2.26 5.48-4.78 7.18l7.73 6c4.51-4.18 7.09-10.36 7.09-17.65z',
      },
      {
        color: '#fbbc05',
        path: 'M10.53 28.59c-.48-1.45-.76-2.99-.76-4.59s.27-3.14.76-4.59l-7.98-6.19C.92 16.46 0 20.12 0 24c0 3.88.92 7.54 2.56 10.78l7.97-6.19z',
      },
      {
        color: '#34a853',
        path: 'M24 48c6.48 0 11.93-2.13 15.89-5.81l-7.73-6c-2.15 1.45-4.92 2.3-8.16 2.3-6.26 0-11.57-4.22-13.47-9.91l-7.98 6.19C6.51 42.62 14.62 48 24 48z',
      },
    ],
  },
  // https://learn.microsoft.com/entra/identity-platform/howto-add-branding-in-apps
  microsoft: {
    viewBox: '0 0 21 21',
    shapes: [
      { color: '#f25022', path: 'M1 1h9v9H1z' },
      { color: '#7fba00', path: 'M11 1h9v9h-9z' },
      { color: '#00a4ef', path: 'M1 11h9v9H1z' },
      { color: '#ffb900', path: 'M11 11h9v9h-9z' },
    ],
  },
}

const icons: Readonly<Record<string, IconDefinition>> = {
  apple: faApple,
  bitbucket: faBitbucket,
  discord: faDiscord,
  facebook: faFacebook,
  github: faGithub,
  gitlab: faGitlab,
  linkedin: faLinkedin,
  slack: faSlack,
  x: faXTwitter,
}

/** Logo of a well-known provider, or null. */
export function markOf(id: string): Mark | null {
  if (Object.hasOwn(colored, id)) return colored[id] ?? null
  const icon = Object.hasOwn(icons, id) ? icons[id]?.icon : undefined
  if (!icon) return null
  const [width, height, , , path] = icon
  return { viewBox: `0 0 ${width} ${height}`, shapes: [{ path: String(path), color: null }] }
}
