// Without the types of the package, which declare the globals of browsers for every file.
export { Auth } from '@auth/core'
