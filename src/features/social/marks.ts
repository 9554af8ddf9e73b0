import type { IconDefinition } from '@fortawesome/free-brands-svg-icons'
import { faApple } from '@fortawesome/free-brands-svg-icons/faApple'
import { faBitbucket } from '@fortawesome/free-brands-svg-icons/faBitbucket'
import { faDiscord } from '@fortawesome/free-brands-svg-icons/faDiscord'
import { faFacebook } from '@fortawesome/free-brands-svg-icons/faFacebook'
import { faGithub } from '@fortawesome/free-brands-svg-icons/faGithub'
import { faGitlab } from '@fortawesome/free-brands-svg-icons/faGitlab'
import { faGoogle } from '@fortawesome/free-brands-svg-icons/faGoogle'
import { faLinkedin } from '@fortawesome/free-brands-svg-icons/faLinkedin'
import { faMicrosoft } from '@fortawesome/free-brands-svg-icons/faMicrosoft'
import { faSlack } from '@fortawesome/free-brands-svg-icons/faSlack'
import { faXTwitter } from '@fortawesome/free-brands-svg-icons/faXTwitter'

/** Logo as an SVG path in one colour. */
export interface Mark {
  viewBox: string
  path: string
}

const icons: Readonly<Record<string, IconDefinition>> = {
  apple: faApple,
  bitbucket: faBitbucket,
  discord: faDiscord,
  facebook: faFacebook,
  github: faGithub,
  gitlab: faGitlab,
  google: faGoogle,
  linkedin: faLinkedin,
  microsoft: faMicrosoft,
  slack: faSlack,
  x: faXTwitter,
}

/** Logo of a well-known provider, or null. */
export function markOf(id: string): Mark | null {
  const icon = Object.hasOwn(icons, id) ? icons[id]?.icon : undefined
  if (!icon) return null
  const [width, height, , , path] = icon
  return { viewBox: `0 0 ${width} ${height}`, path: String(path) }
}
