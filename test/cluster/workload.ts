import type { Test } from 'tap'
import { inPod, kubectl, own } from './cluster.ts'

export const pods = 'app.kubernetes.io/name=svc'

/** A client that the service accounts of the namespace authenticate. */
export const workloads = {
  clients: [
    {
      client_id: 'deploy',
      type: 'confidential',
      grants: ['client_credentials'],
      federated: [{ platform: 'kubernetes', subject: `system:serviceaccount:${own}:*` }],
    },
  ],
}

/** The token and the authority with which svc reads the keys of the cluster. */
export const clusterVolume = {
  extraVolumes: [
    {
      name: 'cluster',
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        ],
      },
    },
  ],
  extraVolumeMounts: [{ name: 'cluster', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
}

/** Requests a token as a pod, with the token of its service account. */
export async function checkWorkload(t: Test): Promise<void> {
  const audience = 'https://auth.example.com'
  const token = { serviceAccountToken: { audience, expirationSeconds: 3600, path: 'token' } }
  const ask = `
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'deploy',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: require('fs').readFileSync('/tokens/token', 'utf8') })
    const send = () => fetch('http://svc/oauth/token', { method: 'POST', body: form })
    const main = async () => {
      // A pod of the old configuration may still receive requests, and does not know the client.
      let answer = await send()
      for (let times = 0; times < 50 && answer.status === 400; times++) {
        await new Promise((done) => setTimeout(done, 200))
        answer = await send()
      }
      console.log(JSON.stringify({ status: answer.status, ...(await answer.json()) }))
    }
    main()`
  const asPod = async (sources: object[]) =>
    JSON.parse(await inPod(ask, { mountPath: '/tokens', source: { projected: { sources } } }))
  const answer = await asPod([token])
  if (answer.status !== 200) t.comment(kubectl(['logs', '--namespace', own, '--selector', pods, '--tail', '20']))
  t.equal(answer.status, 200, answer.error_description)
  const [, payload = ''] = String(answer.access_token).split('.')
  const { workload } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  t.equal(workload, `system:serviceaccount:${own}:default`)
  t.equal((await asPod([{ serviceAccountToken: { path: 'token' } }])).status, 401, 'a token for the API server')
}
