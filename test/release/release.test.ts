// lane: all
// engine: none
import { execFileSync } from 'node:child_process'
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { closeUnreleased, notesOf } from '../../release/notes.ts'
import { commitVersion } from '../../release/version.ts'
import { chartTools } from '../helm/tools.ts'

const root = resolve(import.meta.dirname, '../..')
const version = '1.0.0-rc.1'

const folder = mkdtempSync(join(tmpdir(), 'svc-release-test-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const keyFile = join(folder, 'key.pem')
writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))

const environment = {
  ...process.env,
  ...{ GIT_AUTHOR_NAME: 'svc', GIT_AUTHOR_EMAIL: 'svc@example.com', GIT_AUTHOR_DATE: '2026-11-28T12:00:00Z' },
  ...{ GIT_COMMITTER_NAME: 'svc', GIT_COMMITTER_EMAIL: 'svc@example.com', GIT_COMMITTER_DATE: '2026-11-28T12:00:00Z' },
}

const run = (cwd: string, program: string, args: string[], env: Record<string, string> = {}) =>
  execFileSync(program, args, { cwd, env: { ...environment, ...env }, encoding: 'utf8', stdio: 'pipe' })

/** A repository with one commit: every file of this checkout, also those that are not committed yet. */
function repository(name: string): string {
  const copy = join(folder, name)
  const listed = run(root, 'git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'])
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)))
  for (const file of files) cpSync(join(root, file), join(copy, file), { verbatimSymlinks: true })
  run(copy, 'git', ['init', '--quiet', '--initial-branch=main'])
  run(copy, 'git', ['add', '--all'])
  run(copy, 'git', ['commit', '--quiet', '--message', 'all'])
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

const release = (repository: string, args: string[], env: Record<string, string> = {}) =>
  run(repository, process.execPath, ['release/release.ts', ...args], env)

const sumsOf = (out: string) =>
  Object.fromEntries(
    readdirSync(out)
      .sort()
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(out, name)))
          .digest('hex'),
      ]),
  )

const listOf = (archive: string) => run(folder, 'tar', ['-tzf', archive]).trim().split('\n')

t.test('makes the same files in each build of a commit', { timeout: 600_000 }, async (t) => {
  const [one, two] = [join(folder, 'out-one'), join(folder, 'elsewhere', 'out-two')]
  const copy = repository('one')
  release(copy, [version, '--dry-run', '--key', keyFile, '--out', one])
  t.equal(run(copy, 'git', ['status', '--porcelain']), '', 'a dry run changes nothing')
  t.equal(run(copy, 'git', ['tag', '--list']), '')
  const umasked = `umask 077; exec "$0" release/release.ts ${version} --dry-run --key ${keyFile} --out ${two}`
  run(repository('a longer name/two'), 'sh', ['-c', umasked, process.execPath], { TZ: 'Asia/Tokyo', LC_ALL: 'C' })
  const sums = sumsOf(one)
  t.same(sumsOf(two), sums)
  t.same(Object.keys(sums), [
    'RELEASE-NOTES.md',
    'SHA256SUMS',
    'SHA256SUMS.sig',
    'provenance.intoto.jsonl',
    `svc-${version}-linux-amd64.cdx.json`,
    `svc-${version}-linux-amd64.tar.gz`,
    `svc-${version}-linux-arm64.cdx.json`,
    `svc-${version}-linux-arm64.tar.gz`,
    `svc-chart-${version}.tgz`,
    `svc-client-${version}.tgz`,
    `svc-guard-${version}.tgz`,
  ])

  t.test('the checksums and signatures are right', async (t) => {
    run(one, 'sha256sum', ['--check', '--strict', 'SHA256SUMS'])
    const publicFile = join(folder, 'svc-release.pub')
    writeFileSync(publicFile, publicKey.export({ type: 'spki', format: 'pem' }))
    const args = [
      '-verify',
      '-pubin',
      '-inkey',
      publicFile,
      '-rawin',
      '-in',
      'SHA256SUMS',
      '-sigfile',
      'SHA256SUMS.sig',
    ]
    t.match(run(one, 'openssl', ['pkeyutl', ...args]), /Signature Verified Successfully/)
    const { payloadType, payload, signatures } = JSON.parse(readFileSync(join(one, 'provenance.intoto.jsonl'), 'utf8'))
    const body = Buffer.from(payload, 'base64')
    const signed = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} ${body}`)
    t.ok(
      verify(
        null,
        signed,
        createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })),
        Buffer.from(signatures[0].sig, 'base64'),
      ),
    )
    const { subject, predicate } = JSON.parse(body.toString())
    for (const { name, digest } of subject) t.equal(digest.sha256, sums[name], name)
    t.match(predicate.buildDefinition.externalParameters, {
      version,
      revision: run(copy, 'git', ['rev-parse', 'HEAD']).trim(),
    })
  })

  t.test('the packages have the version', async (t) => {
    for (const name of ['client', 'guard']) {
      const archive = join(one, `svc-${name}-${version}.tgz`)
      const manifest = JSON.parse(run(folder, 'tar', ['-xzOf', archive, 'package/package.json']))
      t.match(manifest, { name: `@svc/${name}`, version })
      t.ok(listOf(archive).some((file) => file.endsWith('.d.ts')))
      t.notOk(listOf(archive).some((file) => /\.test\.|\/test\/|\/src\/|\.env/.test(file)))
    }
  })

  t.test('the chart has the version', async (t) => {
    const archive = join(one, `svc-chart-${version}.tgz`)
    const chart = parse(run(folder, 'tar', ['-xzOf', archive, 'svc/Chart.yaml']))
    t.match(chart, { name: 'svc', version, appVersion: version })
    t.notOk(listOf(archive).some((file) => file.startsWith('svc/ci/')))
    const tools = chartTools()
    if (tools) t.match(parse(run(folder, tools.helm, ['show', 'chart', archive])), { version })
  })

  t.test('the files of the image run, and have the packages of their platform', async (t) => {
    for (const [platform, cpu] of [
      ['amd64', 'x64'],
      ['arm64', 'arm64'],
    ]) {
      const name = `svc-${version}-linux-${platform}`
      const files = listOf(join(one, `${name}.tar.gz`))
      t.ok(files.includes(`${name}/node_modules/@node-rs/argon2-linux-${cpu}-gnu/package.json`))
      t.notOk(files.some((file) => /-musl|-win32-|-darwin-/.test(file)))
      const bill = JSON.parse(readFileSync(join(one, `${name}.cdx.json`), 'utf8'))
      t.match(bill, { bomFormat: 'CycloneDX', metadata: { component: { name: 'svc', version } } })
    }
    const own = process.arch === 'arm64' ? 'arm64' : 'amd64'
    run(folder, 'tar', ['-xzf', join(one, `svc-${version}-linux-${own}.tar.gz`)])
    const cli = join(folder, `svc-${version}-linux-${own}`, 'dist', 'cli.js')
    t.equal(run(folder, process.execPath, [cli, '--version']).trim(), version)
  })
})

t.test('refuses a wrong version, a key of another kind, and changes without a commit', async (t) => {
  const copy = repository('three')
  const refused = (args: string[]) => {
    try {
      release(copy, args)
      return 'accepted'
    } catch (error) {
      return String(Object(error).stderr)
    }
  }
  for (const wrong of ['', '1.0', 'v1.0.0', '1.0.0+build', '1.0.0-', '../1.0.0', '1.0.0 --help'])
    t.match(refused([wrong, '--dry-run']), /^usage: npm run release/, wrong)
  t.match(refused([version]), /needs --key/)
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  writeFileSync(join(folder, 'rsa.pem'), rsa.export({ type: 'pkcs8', format: 'pem' }))
  t.match(refused([version, '--dry-run', '--key', join(folder, 'rsa.pem')]), /is not an Ed25519 key/)
  writeFileSync(join(copy, 'README.md'), 'changed')
  t.match(refused([version, '--dry-run']), /changes without a commit/)
})

t.test('takes the notes from the changelog', async (t) => {
  const changelog = join(folder, 'CHANGELOG.md')
  const out = join(folder, 'notes.md')
  const notes = (version: string) => {
    notesOf(changelog, version).writeTo(out)
    return readFileSync(out, 'utf8')
  }
  writeFileSync(changelog, '# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.9.0] - 2026-01-01\n\n- Old.\n')
  t.equal(notes('1.0.0'), '# svc 1.0.0\n\n- New.\n')
  t.equal(notes('0.9.0'), '# svc 0.9.0\n\n- Old.\n')
  const closed = closeUnreleased(readFileSync(changelog, 'utf8'), '1.0.0', '2026-12-01')
  writeFileSync(changelog, closed)
  t.equal(notes('1.0.0'), '# svc 1.0.0\n\n- New.\n')
  t.throws(() => notesOf(changelog, '1.0.1'), /no section for 1.0.1/)
})

t.test('commits the version everywhere, with the record of what is public', { timeout: 600_000 }, async (t) => {
  const copy = repository('four')
  const git = (...args: string[]) => run(copy, 'git', args).trim()
  commitVersion(copy, version, git)
  t.equal(git('log', '-1', '--format=%s'), `chore(release): ${version}`)
  t.equal(git('status', '--porcelain'), '')
  const changed = git('show', '--name-only', '--format=', 'HEAD').split('\n')
  for (const file of ['package.json', 'package-lock.json', 'CHANGELOG.md', 'Dockerfile', 'docs/contract/1.0.json'])
    t.ok(changed.includes(file), file)
  t.ok(changed.includes('docs/guides/fastify.md'))
  t.match(
    readFileSync(join(copy, 'CHANGELOG.md'), 'utf8'),
    /^## \[Unreleased\]\n\n## \[1\.0\.0-rc\.1\] - \d{4}-\d\d-\d\d\n/m,
  )
  for (const file of [
    'docs/guides/fastify.md',
    'docs/deployment.md',
    'packages/client/README.md',
    'helm/svc/Chart.yaml',
  ]) {
    const text = readFileSync(join(copy, file), 'utf8')
    t.ok(text.includes(version), file)
    t.notOk(text.includes('0.1.0'), file)
  }
})
