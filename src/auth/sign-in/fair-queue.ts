/** Origin of a task: a browser known for its account, or an address. */
export interface Lane {
  kind: 'known' | 'address'
  /** The account, or the rate-limited address. */
  key: string
}

/** Maximum numbers of queued tasks. */
interface Capacity {
  /** In all lanes of one kind. */
  all: number
  /** In one lane. */
  lane: number
}

/** Lanes of one kind. New lanes get every second turn, so that an occasional sign-in does not wait for all others. */
class Rotation<Task> {
  /** Lanes without a turn so far, oldest first. */
  readonly #fresh = new Map<string, Task[]>()
  /** Other lanes in the order of their turns. */
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

  /** Takes the oldest task of the next lane, and moves the lane to the end. */
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

  /** Returns the lane with the most tasks. */
  largest(): string {
    const lanes = [...this.#served, ...this.#fresh]
    const [key = ''] = lanes.reduce((largest, lane) => (lane[1].length > largest[1].length ? lane : largest))
    return key
  }

  /** Removes the newest task of a lane. */
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
 * Queue of tasks in lanes that take turns, so that a lane with many tasks does not delay the others. When the queue is
 * full, a shorter lane takes a place from the largest. Known browsers have their own capacity and every second turn, so
 * that attackers cannot lock them out, whatever number of addresses they use.
 */
export class FairQueue<Task> {
  readonly #rotations = { known: new Rotation<Task>(), address: new Rotation<Task>() }
  readonly #capacity: Capacity
  #last: Lane['kind'] = 'address'

  constructor(capacity: Capacity) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#rotations.known.size + this.#rotations.address.size
  }

  /** Tests whether the lane would reject another task. */
  isFull({ kind, key }: Lane): boolean {
    const rotation = this.#rotations[kind]
    const waiting = rotation.waiting(key)
    if (waiting >= this.#capacity.lane) return true
    if (rotation.size < this.#capacity.all) return false
    return rotation.waiting(rotation.largest()) <= waiting + 1
  }

  /** Adds a task to a lane that is not full; returns the task that lost its place, if any. */
  add(lane: Lane, task: Task): Task | undefined {
    const rotation = this.#rotations[lane.kind]
    const lost = rotation.size < this.#capacity.all ? undefined : rotation.drop(rotation.largest())
    rotation.add(lane.key, task)
    return lost
  }

  /** Removes and returns the next task. */
  take(): Task | undefined {
    const other = this.#last === 'known' ? 'address' : 'known'
    const kind = this.#rotations[other].size > 0 ? other : this.#last
    this.#last = kind
    return this.#rotations[kind].take()
  }
}
