import { idParameter } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

export const SessionParams = Type.Object({ id: Type.String({ pattern: '^[\\w-]{43}$' }) })

export const DeviceParams = Type.Object({
  id: idParameter('The id of the remembered device.', '^[1-9][0-9]{0,17}$'),
})
