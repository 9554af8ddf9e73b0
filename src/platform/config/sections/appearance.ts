import { languages } from '../../languages/languages.ts'
import { themeColors } from '../theme-colors.ts'
import { choice, flag, list, named, nullable, section, text } from './kinds.ts'

const TEXT_NAMES = {
  pattern: '^([a-z][a-z0-9_.-]*|scope\\.[\\x21\\x23-\\x5B\\x5D-\\x7E]+)$',
  expected: 'lowercase letters, digits, _, . and -, or scope. and the name of a scope',
}

const LANGUAGES = { pattern: `^(${languages.join('|')})$`, expected: `one of ${languages.join(', ')}` }

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
          'A directory of mail templates: <name>.txt.eta (a line "Subject: …", an empty line, the text) and <name>.html.eta for each mail, and layout.html.eta and layout.txt.eta around every part. Start from src/platform/mail/templates. If a template fails, svc logs the error and keeps its mails until you fix it. null means the built-in templates.',
      }),
    ),
    pages: nullable(
      text({
        description:
          'A directory of page templates: <name>.eta for each page, layout.eta around them, and style.css. Start from src/pages/templates. If a template fails, svc logs the error and shows the built-in page. null means the built-in templates.',
      }),
    ),
  }),
  theme: section('The appearance of the built-in pages and mails.', {
    logo: nullable(
      text({
        description:
          'The URL of an image shown above forms and in mails. Mails show an SVG image as the name of the application, because mail programs do not support SVG. null means none.',
      }),
    ),
    colors: named(COLOR_NAMES, text({ pattern: COLOR, expected: 'a CSS colour', description: 'A CSS colour.' }), {
      description: `CSS colours by name: ${themeColors.join(', ')}. Add -dark to a name for dark mode. Mail programs support hexadecimal colours best.`,
    }),
    texts: named(TEXT_NAMES, text({ description: 'A text.' }), {
      description:
        'Texts in the language of i18n.default by name, such as login.title. For other languages, use i18n.messages.',
    }),
  }),
  i18n: section('The languages of pages and mails.', {
    default: choice(languages, {
      default: 'en',
      description: 'The language of visitors whose preferred languages are not offered.',
    }),
    languages: list(choice(languages, { description: 'A language.' }), {
      default: languages,
      minItems: 1,
      description: 'The languages that svc offers.',
    }),
    api: flag({
      default: false,
      description:
        'Whether messages in JSON are in the language of the request, too. Programs that compare messages expect English ones.',
    }),
    messages: named(
      LANGUAGES,
      named(TEXT_NAMES, text({ description: 'A text in ICU MessageFormat.' }), { description: 'Texts by name.' }),
      {
        description:
          'Texts by language and name that replace built-in ones. src/platform/languages/messages has all texts. scope. and the name of a scope, such as scope.orders:read, translates its description in scopes.',
        entries: [{ value: { de: { 'login.title': 'Willkommen' } } }],
      },
    ),
    directory: nullable(
      text({
        description:
          'A directory with files of such texts, <language>.json for each language. i18n.messages overrides them. null means none.',
      }),
    ),
  }),
}
