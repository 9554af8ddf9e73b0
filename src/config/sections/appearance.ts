import { themeColors } from '../theme-colors.ts'
import { named, nullable, section, text } from './kinds.ts'

const TEXT_NAMES = { pattern: '^[a-z][a-z0-9_.-]*$', expected: 'lowercase letters, digits, _, . and -' }

const COLOR_NAMES = {
  pattern: `^(${themeColors.join('|')})(-dark)?$`,
  expected: `one of ${themeColors.join(', ')}, optionally followed by -dark`,
}

/** Rejects URLs and anything that could end a CSS declaration. */
const COLOR =
  '^(#[0-9A-Fa-f]{3,8}|[A-Za-z]+|(rgb|hsl)a?\\([\\w.,%\\s/+-]+\\)|(hwb|(ok)?(lab|lch))\\([\\w.,%\\s/+-]+\\))$'

/** Appearance and texts of pages and mails. */
export const appearanceSections = {
  templates: section('Directories with templates that replace the built-in ones, file by file.', {
    mail: nullable(
      text({
        description:
          'A directory of mail templates: <name>.txt.eta (a line "Subject: …", an empty line, the text) and <name>.html.eta for each mail, and layout.html.eta around every HTML part. Start from src/templates/mail. If a template fails, svc logs the error and keeps its mails until you fix it. null means the built-in templates.',
      }),
    ),
    pages: nullable(
      text({
        description:
          'A directory of page templates: <name>.eta for each page, layout.eta around them, and style.css. Start from src/templates/pages. If a template fails, svc logs the error and shows the built-in page. null means the built-in templates.',
      }),
    ),
  }),
  theme: section('The appearance of the built-in pages.', {
    logo: nullable(text({ description: 'The URL of an image shown above forms. null means none.' })),
    colors: named(COLOR_NAMES, text({ pattern: COLOR, expected: 'a CSS colour', description: 'A CSS colour.' }), {
      description: `CSS colours by name: ${themeColors.join(', ')}. Add -dark to a name for dark mode.`,
    }),
    texts: named(TEXT_NAMES, text({ description: 'A text.' }), {
      description: 'Texts of the pages by name, such as login.title. src/pages/texts.ts lists all names.',
    }),
  }),
}
