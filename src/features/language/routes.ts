import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { continuing } from '../../pages/after-form.ts'
import { keepChosenLanguage } from '../../pages/chosen-language.ts'
import { redirectOn } from '../../pages/continuation.ts'
import { languagePath } from '../../pages/language-switch.ts'
import { addPages } from '../../pages/pages.ts'
import { validationFailed } from '../../platform/errors.ts'
import { formType } from '../../platform/http/bodies.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { localPath } from '../../platform/http/return-to.ts'
import { Type } from '../../platform/json-schema.ts'
import { isLanguage } from '../../platform/languages/languages.ts'
import { storeLanguage } from './store.ts'

const FormBody = Type.Object(
  {
    language: uncheckedText('The tag of the language, such as `pt-BR`.'),
    return_to: uncheckedText('The path of the page to show in this language.'),
  },
  { title: 'LanguageForm', additionalProperties: false },
)

/** The language switch below the pages. */
const language: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  app.post(
    languagePath,
    {
      config: { access: { family: 'session', caller: 'guest' } },
      schema: {
        operationId: 'submitLanguage',
        tags: ['Pages'],
        summary: 'Form: choose a language',
        description:
          'The browser keeps the language for a year. If the user is signed in, svc stores it for their other browsers and their mails.',
        consumes: [formType],
        body: FormBody,
        response: { 200: continuing, 303: Type.Null({ description: 'To `return_to` or the start page.' }) },
      },
    },
    async (request, reply) => {
      const { language: chosen, return_to } = request.body
      if (!isLanguage(chosen) || !app.config.current().i18n.languages.includes(chosen))
        throw validationFailed({ language: ['The language field is invalid.'] })
      keepChosenLanguage(request, reply, chosen)
      const user = request.caller?.user
      if (user) await storeLanguage(app.database, user.id, chosen)
      return redirectOn(reply, localPath(return_to))
    },
  )
}

export default language
