import { isatty } from 'node:tty'

/** Tests whether the process has a terminal. */
const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor))

/** Handles SIGHUP, so that it does not end the process. A signal that arrives during the start is handled afterwards. */
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
