// tap's own reporters redraw a terminal; this one prints a line for each test file, and more only about failures.
import { Transform } from 'node:stream'

const FILE_RESULT = /^(not )?ok \d+ - (.*?)(?: # time=([\d.]+)ms.*)?$/

export default class FileReporter extends Transform {
  #rest = ''
  #block = []
  #failed = false

  _transform(chunk, _encoding, done) {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop()
    for (const line of lines) this.#read(line)
    done()
  }

  _flush(done) {
    this.#read(this.#rest)
    this.#printBlock()
    done()
  }

  #read(line) {
    const [isResult, not, file, time] = FILE_RESULT.exec(line) ?? []
    if (isResult) {
      const seconds = (Number(time ?? 0) / 1000).toFixed(1)
      if (!not) this.#block = []
      this.#failed = Boolean(not)
      this.push(`  ${not ? 'FAILED' : 'ok    '}  ${file.replace(/^.tap\/groups\/\d\//, '')}  ${seconds} s\n`)
    } else if (/^(TAP version|\d+\.\.\d+)/.test(line)) {
      this.#printBlock()
    } else if (/^# Subtest: /.test(line)) {
      this.#printBlock()
    } else if (/^# (?!time=)/.test(line)) {
      this.#printBlock()
      this.push(`${line}\n`)
    } else if (line.trim() !== '' && !/^\s+ok \d/.test(line)) {
      this.#block.push(line)
    }
  }

  /** The details of a file follow its result, so they are printed when the next file begins. */
  #printBlock() {
    if (this.#failed) for (const line of this.#block) this.push(`          ${line}\n`)
    this.#block = []
    this.#failed = false
  }
}
