/** Who waits: a browser that is known for its account, or an address. */
export interface Lane {
  kind: 'known' | 'address'
  /** The account, or the address as limits count it. */
  key: string
}

/** How many tasks may wait. */
interface Places {
  /** In all lanes of one kind together. */
  all: number
  /** In one lane. */
  lane: number
}

/** The lanes of one kind. New ones have every second turn, so that an occasional sign-in need not wait for a round of all the others. */
class Rotation<Task> {
  /** Lanes that have not had a turn yet, the oldest first. */
  readonly #fresh = new Map<string, Task[]>()
  /** The others, in the order of their turns. */
  readonly #served = new Map<string, Task[]>()
  #wasFresh = false
  #size = 0

  get size(): number {
    return this.#size
  }

  waiting(key: string): number {
    return this.#find(key)?.length ?? 0
  }

  add(key: string, task: Task): void {
    const tasks = this.#find(key)
    if (tasks) tasks.push(task)
    else this.#fresh.set(key, [task])
    this.#size++
  }

  /** The oldest task of the lane whose turn it is; the lane then goes to the end. */
  take(): Task | undefined {
    this.#wasFresh = this.#fresh.size > 0 && !(this.#wasFresh && this.#served.size > 0)
    const lanes = this.#wasFresh ? this.#fresh : this.#served
    const [first] = lanes
    if (!first) return undefined
    const [key, tasks] = first
    const task = tasks.shift()
    lanes.delete(key)
    if (tasks.length > 0) this.#served.set(key, tasks)
    this.#size--
    return task
  }

  /** The lane with the most tasks. */
  longest(): string {
    const lanes = [...this.#served, ...this.#fresh]
    const [key = ''] = lanes.reduce((longest, lane) => (lane[1].length > longest[1].length ? lane : longest))
    return key
  }

  /** Takes the newest task out of a lane. */
  drop(key: string): Task | undefined {
    const tasks = this.#find(key)
    const task = tasks?.pop()
    if (tasks?.length === 0 && !this.#fresh.delete(key)) this.#served.delete(key)
    if (task !== undefined) this.#size--
    return task
  }

  #find(key: string): Task[] | undefined {
    return this.#fresh.get(key) ?? this.#served.get(key)
  }
}

/**
 * Tasks that wait in lanes. The lanes take turns, so that a lane with many tasks does not delay the others.
 * When all places are taken, a shorter lane takes one from the longest. Known browsers have places of their own, and
 * every second turn, so that strangers cannot shut them out, however many addresses they use.
 */
export class FairQueue<Task> {
  readonly #rotations = { known: new Rotation<Task>(), address: new Rotation<Task>() }
  readonly #places: Places
  #last: Lane['kind'] = 'address'

  constructor(places: Places) {
    this.#places = places
  }

  get size(): number {
    return this.#rotations.known.size + this.#rotations.address.size
  }

  /** Whether another task of the lane would be refused. */
  isFull({ kind, key }: Lane): boolean {
    const rotation = this.#rotations[kind]
    const waiting = rotation.waiting(key)
    if (waiting >= this.#places.lane) return true
    if (rotation.size < this.#places.all) return false
    return rotation.waiting(rotation.longest()) <= waiting + 1
  }

  /** Adds a task to a lane that is not full; answers the task of a longer lane that lost its place to it. */
  add(lane: Lane, task: Task): Task | undefined {
    const rotation = this.#rotations[lane.kind]
    const lost = rotation.size < this.#places.all ? undefined : rotation.drop(rotation.longest())
    rotation.add(lane.key, task)
    return lost
  }

  /** The next task. */
  take(): Task | undefined {
    const other = this.#last === 'known' ? 'address' : 'known'
    const kind = this.#rotations[other].size > 0 ? other : this.#last
    this.#last = kind
    return this.#rotations[kind].take()
  }
}
