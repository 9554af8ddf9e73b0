import { createClient } from '/svc-client/client.js'

const svc = createClient({ baseUrl: 'http://localhost:8000' })
const element = (id) => document.getElementById(id)

async function show() {
  const user = await svc.userOrNull()
  element('sign-in').hidden = user !== null
  element('shop').hidden = user === null
  if (!user) return
  element('name').textContent = user.name
  const answer = await fetch('/api/orders')
  const orders = await answer.json()
  if (!answer.ok) throw new Error(orders.message)
  const lines = orders.map(({ item, by }) =>
    Object.assign(document.createElement('li'), { textContent: `${item}, by ${by}` }),
  )
  element('orders').replaceChildren(...lines)
}

/** Calls the function with the fields of a submitted form. */
function onSubmit(id, call) {
  element(id).addEventListener('submit', (event) => {
    event.preventDefault()
    void run(() => call(Object.fromEntries(new FormData(event.target)), event.target))
  })
}

async function run(call) {
  element('problem').textContent = ''
  try {
    await call()
    await show()
  } catch (error) {
    element('problem').textContent = error.message
  }
}

onSubmit('sign-in', async ({ email, password, code }, form) => {
  let needsCode = false
  if (code) await svc.twoFactor.challenge({ code })
  else needsCode = (await svc.login({ email, password })).two_factor
  form.elements.code.parentElement.hidden = !needsCode
  if (!needsCode) form.reset()
})
onSubmit('order', async ({ item }, form) => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch('/api/orders', { method: 'POST', headers, body: JSON.stringify({ item }) })
  if (!answer.ok) throw new Error((await answer.json()).message)
  form.reset()
})
element('sign-out').addEventListener('click', () => run(() => svc.logout()))
void run(async () => undefined)
