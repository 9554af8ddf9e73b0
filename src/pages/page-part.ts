/** A part of a page that a feature adds. */
export interface PagePart {
  /** Absolute path of its template, or null to show nothing. */
  template: string | null
  /** For the templates of the part and of the page. The part also gets the data of the page, `isFirst` and `isPreferred`. */
  data: object
  /** Whether the page shows it above its form. */
  isPreferred?: boolean
}
