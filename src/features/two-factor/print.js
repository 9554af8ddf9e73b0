// Shows the button that prints the recovery codes.
const button = document.getElementById('print-codes')
button.hidden = false
button.addEventListener('click', () => print())
