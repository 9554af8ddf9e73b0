/** How to run a command of svc: from a checkout by npm, from an image or a package by its own name. */
export const commandName = import.meta.url.endsWith('/src/platform/command-name.ts') ? 'npm run --silent svc --' : 'svc'
