/** A value of the configuration, and where it was set. */
export interface ShownValue {
  key: string
  /** As in the file. Null for a secret; a URL with credentials appears without them. */
  value: unknown
  isSecret: boolean
  source: string
  file: string | null
  line: number | null
  /** The variable that sets the value, or `true` if the value in the file contains variables. */
  variable: string | true | null
}
