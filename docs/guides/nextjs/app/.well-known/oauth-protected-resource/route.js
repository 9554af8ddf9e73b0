import { api } from '../../../api.js'

export const GET = () => api.metadata()
