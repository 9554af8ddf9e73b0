import { connect } from 'node:net'
import { type ReloadResult, reloadRequest } from '../../platform/workers/reload-result.ts'
import type { RunDirectory } from './run-directory.ts'

/** How long a server may take to reload, in milliseconds. */
const answerTimeout = 30_000

/** The answer of one server. */
export type ServerAnswer = ReloadResult & { pid: number }

/** Tests for a socket on which no process listens, such as that of a server that crashed. */
export const isStale = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED'))
  })

/** Asks one server to reload. Returns null if it has ended. */
const ask = (path: string): Promise<ServerAnswer | null> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(path, () => socket.write(reloadRequest))
    socket.setTimeout(answerTimeout, () => socket.destroy(new Error('the server does not answer')))
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.once('end', () => {
      if (text.endsWith('\n')) resolve(JSON.parse(text))
      else reject(new Error('the server closed the connection without an answer'))
    })
    socket.once('error', (error) => {
      if ('code' in error && ['ECONNREFUSED', 'ENOENT'].includes(String(error.code))) resolve(null)
      else reject(error)
    })
  })

/** Asks all running servers with this configuration file to reload it, and returns their answers. */
export async function reloadServers(directory: RunDirectory): Promise<ServerAnswer[]> {
  const answers = await Promise.all(directory.sockets().map(ask))
  return answers.filter((answer) => answer !== null)
}
