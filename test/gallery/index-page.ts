import { isHostile, variants, variantsOf } from './variants.ts'

const names = Object.keys(variants)

const style = `
:root { color-scheme: light dark; }
body { margin: 0; padding: 1.5rem; font: 100%/1.5 system-ui, sans-serif; }
main { display: grid; gap: 2rem; }
h2 { margin: 0 0 .5rem; font-size: 1rem; }
.row { display: flex; gap: 1rem; overflow-x: auto; }
figure { flex: none; width: 15rem; margin: 0; }
figcaption { font-size: .8125rem; }
img { width: 100%; max-height: 24rem; object-fit: cover; object-position: top; border: 1px solid #8888; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: 2rem; font-size: .875rem; }
${names.map((name) => `body:has(#show-${name}:not(:checked)) .${name} { display: none; }`).join('\n')}
`

function figure(state: string, name: string): string {
  const file = `${name}/${state}.jpeg`
  const image = `<a href="${file}"><img loading="lazy" src="${file}" alt="${state}, ${name}"></a>`
  return `<figure class="${name}">${image}<figcaption>${variants[name]?.label}</figcaption></figure>`
}

function row(state: string): string {
  const figures = variantsOf(state).map((name) => figure(state, name))
  return `<section id="${state}"><h2>${state}</h2><div class="row">${figures.join('')}</div></section>`
}

const choice = (name: string): string =>
  `<label><input type="checkbox" id="show-${name}" checked> ${variants[name]?.label}</label>`

/** The page that shows the pictures of all states side by side. States with untrusted values come last. */
export function renderIndex(states: readonly string[]): string {
  const sorted = states.toSorted((a, b) => Number(isHostile(a)) - Number(isHostile(b)))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gallery of svc</title>
<style>${style}</style>
</head>
<body>
<h1>Gallery of svc</h1>
<nav aria-label="Variants">${names.map(choice).join('')}</nav>
<nav aria-label="States">${sorted.map((state) => `<a href="#${state}">${state}</a>`).join('')}</nav>
<main>
${sorted.map(row).join('\n')}
</main>
</body>
</html>
`
}
