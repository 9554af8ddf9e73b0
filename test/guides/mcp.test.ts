// engine: none
// process: own
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import { DocumentHost, loopback, openTo } from '../support/document-host.ts'
import { Person } from '../support/oauth.ts'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { McpAgent } from './mcp-agent.ts'
import { guideTools, hasRuntimes } from './tools.ts'

const guide = resolve(import.meta.dirname, '../../docs/guides/mcp')
const hook = `--import=${new URL('guard-hook.mjs', import.meta.url).href}`
const python = guideTools()?.python

/** The SDK asked for a new authorization, and waits for it. */
const unauthorized = { message: 'Unauthorized' }

/** Redirect URI of a registered editor, by a scheme without a dot. */
const editorUri = 'cursor://anysphere.cursor-mcp/oauth/callback'

const servers: Record<string, string[]> = { TypeScript: [process.execPath, hook, 'server.js'] }
if (python) servers.Python = [python, 'server.py']
else t.notOk(process.env.CI && hasRuntimes(), 'THE EXAMPLES OF THE GUIDES ARE NOT BUILT (npm run guides:tools)')

/** svc and an MCP server of the guide, with a user. */
async function start(t: Test, language: string) {
  const [port, serverPort] = [await freePort(), await freePort()]
  const [url, resource] = [`http://localhost:${port}`, `http://localhost:${serverPort}/mcp`]
  const documents = await DocumentHost.start(t)
  const scopes = () => ['orders:read', 'orders:write']
  const editor: Settings = {
    client_id: 'editor',
    type: 'public',
    application_type: 'native',
    redirect_uris: [editorUri],
    redirect_schemes: ['cursor'],
    grants: ['authorization_code', 'refresh_token'],
    scopes: scopes(),
  }
  const svc = await buildTestApp(t, {
    settings: {
      ...openTo({ scopes: ['openid', 'offline_access', ...scopes()] }),
      app: { url },
      apis: { orders: { audience: resource, scopes: scopes(), advertised_scopes: ['orders:read'] } },
      clients: [editor],
    },
  })
  await svc.app.listen({ port, host: 'localhost' })
  const [program = '', ...args] = servers[language] ?? []
  const { PATH = '', HOME = '' } = process.env
  const env = {
    PATH,
    HOME,
    PORT: String(serverPort),
    SVC_ISSUER: url,
    SVC_AUDIENCE: resource,
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const child = spawn(program, args, { cwd: guide, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  const ended = new Promise((done) => child.once('close', done))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(output)
    return fetch(resource).then(
      () => true,
      () => false,
    )
  })
  const ada = new Person(svc, (await svc.createUser({ email: 'ada@example.com' })).email, url)
  return { svc, resource, documents, ada, url }
}

/** The user opens the URL in a browser, signs in if asked and allows the client; the parameters that the client gets. */
async function allow(ada: Person, url: URL): Promise<Record<string, string>> {
  const { out, answer } = await ada.decide(await ada.go(url.pathname + url.search))
  if (!out) throw new Error(answer.body.replace(/<style.*<\/style>/s, ''))
  return Object.fromEntries(out.searchParams)
}

for (const language of Object.keys(servers)) {
  t.test(`${language} server, client of the TypeScript SDK: from the first 401 to a tool call`, async (t) => {
    const { svc, resource, documents, ada } = await start(t, language)
    const clientId = documents.serve('/agent.json', { client_name: 'TypeScript agent' })
    const ways: [string, McpAgent][] = [
      ['with a metadata document', new McpAgent(loopback, { document: clientId })],
      ['registered', new McpAgent(editorUri, { clientId: 'editor' })],
    ]
    for (const [way, agent] of ways) {
      await t.test(way, async (t) => {
        const connect = async () => {
          const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: agent })
          const client = new Client({ name: 'test', version: '1.0.0' })
          t.teardown(() => client.close())
          return { transport, client, done: client.connect(transport) }
        }
        const first = await connect()
        await t.rejects(first.done, unauthorized)
        t.match(Object.fromEntries(agent.url.searchParams), {
          resource,
          scope: 'orders:read',
          code_challenge_method: 'S256',
        })
        const { code = '' } = await allow(ada, agent.url)
        await first.transport.finishAuth(code)
        const { transport, client, done } = await connect()
        await done
        const call = async (name: string) => {
          const { content } = await client.callTool({ name })
          return (content as { text: string }[])[0]?.text
        }
        t.match(await call('list_orders'), /^orders of \d+$/)
        const { tokens } = agent
        t.match(tokens(), { scope: 'orders:read', refresh_token: /./ })

        agent.saveTokens({ ...tokens(), access_token: 'invalid' })
        t.match(await call('list_orders'), /^orders of \d+$/, 'after a refresh')
        t.not(tokens().access_token, 'invalid')

        // With a refresh token, version 1.32 of the SDK refreshes instead of asking for the scope.
        const { refresh_token: _, ...rest } = tokens()
        agent.saveTokens(rest)
        await t.rejects(call('create_order'), unauthorized, 'a tool that needs another scope')
        t.equal(
          agent.url.searchParams.get('scope'),
          'orders:read orders:write',
          'asks for what it has and what it needs',
        )
        const stepUp = await allow(ada, agent.url)
        await transport.finishAuth(stepUp.code ?? '')
        t.match(await call('create_order'), /^created by \d+$/)
        t.match(await call('list_orders'), /^orders of \d+$/, 'the other tools still work')
        if (language === 'TypeScript') {
          const weak = { ...tokens(), refresh_token: undefined }
          agent.saveTokens(weak)
          await t.rejects(call('delete_orders'), unauthorized, 'a tool that needs a second factor')
        }
        await endAccess(svc, ada)
        agent.saveTokens({ ...tokens(), access_token: 'invalid' })
        await t.rejects(call('list_orders'), 'the user disconnected the agent')
      })
    }
  })

  if (!python) continue
  t.test(`${language} server, client of the Python SDK: from the first 401 to a tool call`, async (t) => {
    const { svc, resource, documents, ada } = await start(t, language)
    const document = documents.serve('/agent.json', { client_name: 'Python agent' })
    const ways: [string, object][] = [
      ['with a metadata document', { redirect_uri: loopback, client_metadata_url: document }],
      ['registered', { redirect_uri: editorUri, client_id: 'editor' }],
    ]
    for (const [way, setup] of ways) {
      await t.test(way, async (t) => {
        const client = startPython(t, { server: resource, ...setup })
        const answer = async (message: Record<string, unknown>) => {
          const url = new URL(String(message.url))
          const { code, state, iss } = await allow(ada, url)
          client.send({ code, state, iss })
          return url.searchParams
        }
        t.match(Object.fromEntries(await answer(await client.next())), { resource, scope: /orders:read/ })
        t.match(await client.next(), { scope: /orders:read/ })
        t.match(await client.next(), { ready: true })
        client.send({ tool: 'list_orders' })
        t.match(await client.next(), { text: /^orders of \d+$/ })

        client.send({ expire: 'access_token' })
        client.send({ tool: 'list_orders' })
        t.match(await client.next(), { scope: /orders:read/, url: undefined }, 'after a refresh')
        t.match(await client.next(), { text: /^orders of \d+$/ })

        client.send({ tool: 'create_order' })
        const asked = await answer(await client.next())
        t.match(
          asked.get('scope'),
          /orders:read.*orders:write|orders:write.*orders:read/,
          'asks for what it has and needs',
        )
        t.match(await client.next(), { scope: /orders:write/ })
        t.match(await client.next(), { text: /^created by \d+$/ })
        await endAccess(svc, ada)
        client.send({ expire: 'access_token' })
        client.send({ tool: 'list_orders' })
        t.match(await client.next(), { url: /authorize/ }, 'the user disconnected the agent, which has to ask again')
      })
    }
  })
}

/** Disconnects every application of the user. */
async function endAccess(svc: TestApp, ada: Person): Promise<void> {
  const { id } = await svc.database.prisma.user.findFirstOrThrow({ where: { email: ada.email } })
  await svc.database.prisma.oauthRecord.deleteMany({ where: { userId: id, kind: { in: ['Grant', 'RefreshToken'] } } })
}

function startPython(t: Test, setup: object) {
  const child = spawn(python ?? '', [join(import.meta.dirname, 'mcp-client.py'), JSON.stringify(setup)])
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const ended = new Promise((done) => child.once('close', done))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    send: (message: object) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    async next(): Promise<Record<string, unknown>> {
      const { value, done } = await lines.next()
      if (done) throw new Error(errors)
      return JSON.parse(value)
    },
  }
}
