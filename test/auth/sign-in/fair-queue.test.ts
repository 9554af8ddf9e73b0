// engine: none
import t from 'tap'
import { FairQueue, type Lane } from '../../../src/auth/sign-in/fair-queue.ts'

const address = (key: string): Lane => ({ kind: 'address', key })
const known = (key: string): Lane => ({ kind: 'known', key })

/** A queue of four places, two for each lane, with these tasks: one letter for the lane. */
function queueOf(tasks: string, places = { all: 100, lane: 50 }) {
  const queue = new FairQueue<string>(places)
  for (const [index, letter] of [...tasks].entries()) {
    queue.add(letter === letter.toUpperCase() ? known(letter) : address(letter), `${letter}${index}`)
  }
  return queue
}

/** The order in which the lanes of the waiting tasks get their turn. */
function order(queue: FairQueue<string>): string {
  let letters = ''
  for (let task = queue.take(); task !== undefined; task = queue.take()) letters += task[0]
  return letters
}

t.test('takes turns between addresses, however many tasks each has', async (t) => {
  t.equal(order(queueOf('abc')), 'abc')
  t.equal(order(queueOf('aaaaabb')), 'aababaa')
  const one = queueOf('aaa')
  t.same([one.take(), one.take()], ['a0', 'a1'], 'the oldest of a lane first')
  t.equal(order(one), 'a')
  t.equal(one.size, 0)
  t.equal(one.take(), undefined)
})

t.test('serves a new address next, however many tasks another one has', async (t) => {
  const queue = queueOf('aaaaaa')
  queue.take()
  queue.take()
  queue.add(address('b'), 'b')
  t.equal(order(queue), 'baaaa')
})

t.test('does not starve waiting tasks when new addresses keep arriving', async (t) => {
  const queue = queueOf('aaaa')
  queue.take()
  let letters = ''
  for (const letter of 'bcdefg') {
    queue.add(address(letter), letter)
    letters += queue.take()?.[0]
  }
  t.equal(letters, 'abacad')
})

t.test('gives known browsers every second turn, however many addresses wait', async (t) => {
  t.equal(order(queueOf('abcdefAB')), 'AaBbcdef')
  t.match(order(queueOf('aaaAAA')), /^(Aa){3}$/)
})

t.test('limits a lane to its share', async (t) => {
  const queue = queueOf('aab', { all: 4, lane: 2 })
  t.ok(queue.isFull(address('a')))
  t.notOk(queue.isFull(address('b')))
  t.notOk(queue.isFull(known('a')), 'the same key of another kind is another lane')
})

t.test('takes a place from the longest lane for a shorter one when all places are used', async (t) => {
  const queue = queueOf('aaabb', { all: 5, lane: 3 })
  t.notOk(queue.isFull(address('c')))
  t.equal(queue.add(address('c'), 'c'), 'a2', 'the newest of the longest')
  t.notOk(queue.isFull(address('d')))
  queue.add(address('d'), 'd')
  t.ok(queue.isFull(address('a')), 'the lane that lost it does not take it back')
  t.equal(queue.size, 5)
  queue.add(address('e'), 'e')
  t.ok(queue.isFull(address('f')), 'five addresses have one each: there is nothing to share')
  t.notOk(queue.isFull(known('K')), 'known browsers have separate places')
  queue.add(known('K'), 'K')
  t.equal(order(queue).length, 6)
})
