// engine: none
import { table } from './problems.ts'

const fingerprint = Array(32).fill('ab').join(':')
const android = (value: string) => `mobile_apps: { android: [{ package: com.example.app, ${value} }] }`

table('mobile_apps', [
  ['mobile_apps: { ios: [ABCDE12345.com.example.app, ABCDE12345.com.example.other-app] }'],
  ...[
    'com.example.app',
    'abcde12345.com.example.app',
    'ABCDE1234.app',
    'ABCDE12345',
    'ABCDE12345.*',
    'ABCDE12345.a b',
  ].map((id) => [`mobile_apps: { ios: ['${id}'] }`, 'mobile_apps.ios[0]', /team id and the bundle id/] as const),
  [android(`sha256_cert_fingerprints: ['${fingerprint}']`)],
  ...[
    fingerprint.slice(3),
    `${fingerprint}:ab`,
    fingerprint.replaceAll(':', ''),
    fingerprint.replace('a', 'x'),
    '',
  ].map(
    (text) =>
      [
        android(`sha256_cert_fingerprints: ['${text}']`),
        'mobile_apps.android[0].sha256_cert_fingerprints[0]',
        /32 bytes in hexadecimal, separated by colons/,
      ] as const,
  ),
  [android('sha256_cert_fingerprints: []'), 'mobile_apps.android[0].sha256_cert_fingerprints'],
  [android(''), 'mobile_apps.android[0].sha256_cert_fingerprints', /required/],
  ...['app', 'com.1x', 'com.example.app-x', '.com.example'].map(
    (name) =>
      [
        `mobile_apps: { android: [{ package: ${name}, sha256_cert_fingerprints: ['${fingerprint}'] }] }`,
        'mobile_apps.android[0].package',
        /com\.example\.app/,
      ] as const,
  ),
  [
    `mobile_apps: { android: [${`{ package: com.example.app, sha256_cert_fingerprints: ['${fingerprint}'] }, `.repeat(2)}] }`,
    'mobile_apps.android[1].package',
    /listed twice/,
  ],
  ["mobile_apps: { ios: [ABCDE12345.com.example.app], link_paths: ['/app/*', /callback] }"],
  ...['app/*', '/*', '/', '//evil.example', '/a*b', '/app?x', 'https://a.example/app', '/app/**'].map(
    (path) =>
      [
        `mobile_apps: { ios: [ABCDE12345.com.example.app], link_paths: ['${path}'] }`,
        'mobile_apps.link_paths[0]',
        /such as \/app\/\*/,
      ] as const,
  ),
  ['mobile_apps: { link_paths: [/app/*] }', 'mobile_apps.link_paths', /needs an app/],
])
