import { isatty } from 'node:tty'

/** Tests whether the process has a terminal. */
const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor))

/** Handles SIGHUP, which does not end the process from here on. One that arrives early is handled after the start. */
export class HangUps {
  readonly #hadTerminal = hasTerminal()
  #isPending = false
  #act = (): void => {
    this.#isPending = true
  }

  constructor() {
    process.on('SIGHUP', () => this.#act())
  }

  /** Reloads on a hang-up, or ends when the terminal of the process was closed. */
  handle(reload: () => void, end: () => void): void {
    this.#act = () => (!this.#hadTerminal || hasTerminal() ? reload() : end())
    if (this.#isPending) this.#act()
  }
}
