// engine: none
import { table } from './problems.ts'

const job = (federated: string, more = '') =>
  `scopes: { read: Read }\nclients: [{ client_id: job, type: confidential, grants: [client_credentials], ${more} federated: [{ ${federated} }] }]`
const key = 'clients[0].federated[0]'
const other = "issuer: 'https://issuer.example'"

table('tokens of platforms', [
  [job(`${other}, subject: 'job:*'`)],
  [
    job(
      `${other}, subject: 'job:*', claims: { team: ops, protected: true, tier: 3 }, max_age: 10m, audience: api://svc`,
    ),
  ],
  [job("subject: 'job:*'"), `${key}.issuer`, /required without a platform/],
  [job("issuer: issuer.example, subject: 'job:*'"), `${key}.issuer`, /http/],
  [job(`${other}`), `${key}.subject`, /required/],
  [job(`${other}, subject: '*'`), `${key}.subject`, /every workload/],
  [job(`${other}, subject: '*:*/*'`), `${key}.subject`, /every workload/],
  [job(`${other}, subject: 'job', claims: { team: '*' }`), `${key}.claims.team`, /every text/],
  [job(`${other}, subject: 'job', claims: { team: [a] }`), `${key}.claims.team`],
  [job(`${other}, subject: 'job', max_age: 2d`), `${key}.max_age`, /at most 1d/],
  [job(`${other}, subject: 'job', ca_file: /nowhere/ca.pem`), `${key}.ca_file`, /nowhere/],
  [job(`${other}, subject: 'job', platform: jenkins`), `${key}.platform`, /github/],

  [job("platform: github, subject: 'repo:acme/*:ref:refs/heads/main'")],
  [job("platform: github, subject: 'repo:acme/shop:environment:production'")],
  [job("platform: github, subject: 'repo:*/*:ref:refs/heads/main'"), `${key}.subject`, /name the owner without \*/],
  [job("platform: github, subject: 'repo:acme*/shop:ref:refs/heads/main'"), `${key}.subject`, /name the owner/],
  [job("platform: github, subject: 'environment:production'"), `${key}.subject`, /repository_owner/],
  [job("platform: github, subject: 'environment:production', claims: { repository_owner_id: '65' }")],
  [job("platform: github, subject: 'environment:production', claims: { repository_owner: 'ac*' }"), `${key}.subject`],
  [
    job("issuer: 'https://token.actions.githubusercontent.com', subject: 'repo:*/*:ref:refs/heads/main'"),
    `${key}.subject`,
    /name the owner/,
  ],
  [job("platform: gitlab, subject: 'project_path:acme/shop:ref_type:branch:ref:main'")],
  [
    job("platform: gitlab, subject: 'project_path:*/shop:ref_type:branch:ref:main'"),
    `${key}.subject`,
    /name the group/,
  ],
  [job("platform: kubernetes, subject: 'system:serviceaccount:prod:*'")],
  [job("platform: kubernetes, subject: 'system:serviceaccount:*:deployer'"), `${key}.subject`, /name the namespace/],
  [job("platform: google, subject: '103029303920302930293'")],
  [job("platform: google, subject: '1*'"), `${key}.subject`, /must not contain \*/],
  [job('platform: azure, subject: 3c1f2d4e'), `${key}.issuer`, /login\.microsoftonline\.com/],
  [job("platform: azure, subject: 3c1f2d4e, issuer: 'https://login.microsoftonline.com/t/v2.0'")],
  [job("platform: spiffe, subject: 'spiffe://acme.example/prod/*', jwks_uri: 'https://spire.example/bundle'")],
  [job("platform: spiffe, subject: 'spiffe://acme.example/prod'"), `${key}.jwks_uri`, /bundle/],
  [
    job("platform: spiffe, subject: 'spiffe://*/prod', jwks_uri: 'https://spire.example/bundle'"),
    `${key}.subject`,
    /name the trust domain/,
  ],

  [job(`${other}, subject: job`, 'secret: s,')],
  [job(`${other}, subject: job`, "jwks_uri: 'https://a.example/jwks',"), 'clients[0].federated', /combined/],
  [job(`${other}, subject: job`, "fapi: true, jwks_uri: 'https://a.example/jwks',"), 'clients[0].federated', /FAPI/],
  [
    job(`${other}, subject: job`).replace('confidential', 'public').replace('client_credentials', 'device_code'),
    'clients[0].federated',
    /public client/,
  ],
])
