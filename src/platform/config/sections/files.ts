import { list, nullable, text } from './kinds.ts'

/** Other files of the configuration. */
export const fileSections = {
  include: list(text({ description: 'A file.' }), {
    default: [],
    example: ['mail.yaml', 'providers.yaml'],
    description:
      'Further configuration files. Relative paths start at the directory of this file. Sections of several files are merged, and so are the lists clients and webhooks. Any other key that two files set is an error. Only this file can include others.',
  }),
}

/** The directory that teams share. */
export const clientsDirectory = nullable(
  text({
    example: 'clients.d',
    description:
      'A directory of files named *.yaml, each with one client or a list of clients, so that each team owns a file. Keys of a client are not indented and need no clients: above them. Relative paths start at the directory of this file. Symbolic links must not leave the directory. References to the environment are allowed only in secret.',
  }),
)
