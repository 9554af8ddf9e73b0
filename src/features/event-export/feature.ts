import type { Feature } from '../../contract/feature.ts'

export const eventExportFeature = {
  services: async (app) => (await import('./exporter.ts')).addEventExport(app),
  gauges: async (app, metrics) => (await import('./exporter.ts')).addExportGauges(app, metrics),
} satisfies Feature
