import type { NamedFormat } from '../formats.ts'
import { featureSection } from './feature-section.ts'
import { entry, list, section, text } from './kinds.ts'

const appIdFormat: NamedFormat = {
  name: 'ios-app-id',
  expected: 'an application identifier: the team id and the bundle id, such as ABCDE12345.com.example.app',
  matches: (text) => /^[A-Z\d]{10}(\.[A-Za-z\d-]+)+$/.test(text),
}

const packageFormat: NamedFormat = {
  name: 'android-package',
  expected: 'a package name such as com.example.app',
  matches: (text) => /^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/.test(text),
}

const fingerprintFormat: NamedFormat = {
  name: 'sha256-fingerprint',
  expected: 'a SHA-256 fingerprint: 32 bytes in hexadecimal, separated by colons, as keytool -list -v prints it',
  matches: (text) => /^[\dA-F]{2}(:[\dA-F]{2}){31}$/i.test(text),
}

const linkPathFormat: NamedFormat = {
  name: 'link-path',
  expected: 'a path of svc with an optional * at its end, such as /app/* (not /*, which contains the pages of svc)',
  matches: (text) => /^\/[\w.~%-]+(\/[\w.~%-]*)*\*?$/.test(text),
}

const fingerprint = 'FA:C6:17:45:DC:09:03:78:6F:B9:ED:E6:2A:96:2B:39:9F:73:48:F0:BB:6F:89:9B:83:32:66:75:91:03:3B:9C'

const androidApp = entry('An Android app.', {
  package: text({ format: packageFormat, example: 'com.example.app', description: 'The package name.' }),
  sha256_cert_fingerprints: list(text({ format: fingerprintFormat, description: 'A fingerprint.' }), {
    minItems: 1,
    maxItems: 20,
    example: [fingerprint],
    description:
      'The SHA-256 fingerprints of the certificates that sign the app. With Play App Signing, the Play Console shows the one that users get.',
  }),
})

const schema = section(
  'Native apps that use the passkeys, passwords and links of this domain. svc serves /.well-known/apple-app-site-association and /.well-known/assetlinks.json from it, and accepts passkeys from these apps. Both files must be at the host that is passkeys.rp_id.',
  {
    ios: list(text({ format: appIdFormat, description: 'An application identifier.' }), {
      default: [],
      example: ['ABCDE12345.com.example.app'],
      description: 'The application identifiers of iOS and macOS apps: <team id>.<bundle id>.',
    }),
    android: list(androidApp, {
      default: [],
      description: 'Android apps.',
    }),
    link_paths: list(text({ format: linkPathFormat, description: 'A path.' }), {
      default: [],
      example: ['/app/*'],
      description:
        'Paths of this host that open in the apps (universal links and app links), such as a redirect URI or links.reset. Android reads the paths from the manifest of the app.',
    }),
  },
)

/** Native apps. */
export const mobileApps = featureSection({
  schema,
  formats: [appIdFormat, packageFormat, fingerprintFormat, linkPathFormat],
  resolve: ({ android, ...given }) => ({
    ...given,
    android: android.map(({ package: name, sha256_cert_fingerprints: fingerprints }) => ({
      package: name,
      // Google compares upper-case fingerprints.
      sha256_cert_fingerprints: [...new Set(fingerprints.map((text) => text.toUpperCase()))],
    })),
  }),
  check: ({ ios, android, link_paths }, _app, report) => {
    const packages = android.map(({ package: name }) => name)
    for (const [index, name] of packages.entries()) {
      if (packages.indexOf(name) < index) {
        report(['android', index, 'package'], `is listed twice (found "${name}"); list all fingerprints in one entry`)
      }
    }
    if (link_paths.length > 0 && ios.length + android.length === 0) {
      report(['link_paths'], 'needs an app in mobile_apps.ios or mobile_apps.android')
    }
  },
})
