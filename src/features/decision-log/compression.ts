import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'

/** Compresses a text outside of the event loop. */
export const deflate: (text: string) => Promise<Buffer> = promisify(deflateRaw)

/** Returns the compressed text. */
export const inflate = async (bytes: Buffer): Promise<string> => (await promisify(inflateRaw)(bytes)).toString()
