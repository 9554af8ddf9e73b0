import { isMessageName, type MessageName } from '../platform/languages/messages.ts'

/** Name of a text. `src/platform/languages/messages/en.json` has all of them. */
export type TextName = MessageName

/** Tests for a known text name. */
export const isTextName = isMessageName

export { textsOf } from '../platform/http/texts.ts'
