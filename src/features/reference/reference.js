// Shows the API description of this server with Swagger UI.
const text = await (await fetch('/openapi.json')).text()
const [{ url }] = JSON.parse(text).servers

globalThis.SwaggerUIBundle({
  // Requests go to the address of the page, which may differ from `app.url`.
  spec: JSON.parse(text.replaceAll(url, location.origin)),
  dom_id: '#reference',
  deepLinking: true,
  displayOperationId: true,
  filter: true,
  persistAuthorization: true,
  // Without it, Swagger UI would send the description to its own validator.
  validatorUrl: null,
})
