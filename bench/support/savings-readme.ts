import { table, updateSection } from './readme.ts'

/** The processor time of an operation in svc and PostgreSQL, in microseconds. */
export interface ShortcutSaving {
  shortcut: string
  operation: string
  /** The lines of its files. */
  lines: number
  with: number
  without: number
}

/** The memory in MB, and the processor time of a bearer check in microseconds, without a flag; null: with all flags. */
export interface FlagSaving {
  flag: string | null
  idle: number
  load: number
  time: number
}

/** The contents of `results/savings.json`. */
export interface SavingsReport {
  date: string
  commit: string
  machine: Record<string, string | number | null>
  options: { seconds: number; rounds: number; connections: number }
  shortcuts: ShortcutSaving[]
  flags: FlagSaving[]
}

const share = (saved: number): string => `${Math.round(100 * saved)} %`
const signed = (value: number, unit: string): string => `${value > 0 ? '+' : ''}${value.toFixed(1)} ${unit}`

/** Returns the two tables. */
function savingsLines({ date, commit, machine, options, shortcuts, flags }: SavingsReport): string[] {
  const all = flags.find(({ flag }) => flag === null)
  return [
    ...table([
      ['Shortcut', 'Lines', 'Operation', 'With it', 'Without it', 'Saves'],
      ...shortcuts.map(({ shortcut, lines, operation, ...times }) => [
        `\`${shortcut}\``,
        String(lines),
        `\`${operation}\``,
        `${times.with} µs`,
        `${times.without} µs`,
        share(1 - times.with / times.without),
      ]),
    ]),
    '',
    ...(all
      ? [
          ...table([
            ['Without', 'Memory, idle', 'Memory, under load', 'Bearer check'],
            ['(all flags)', `${all.idle} MB`, `${all.load} MB`, `${all.time} µs`],
            ...flags.flatMap(({ flag, idle, load, time }) =>
              flag === null
                ? []
                : [
                    [
                      `\`${flag}\``,
                      signed(idle - all.idle, 'MB'),
                      signed(load - all.load, 'MB'),
                      signed(100 * (time / all.time - 1), '%'),
                    ],
                  ],
            ),
          ]),
          '',
        ]
      : []),
    `Measured on ${date.slice(0, 10)} at commit \`${commit}\`: medians of ${options.rounds} rounds of ${options.seconds} s with ${options.connections} connections,`,
    `with ${machine.cores} cores, Node ${machine.node} and PostgreSQL ${machine.postgresql}.`,
  ]
}

/** Writes the results into bench/README.md, except with `check`. Returns whether they differed. */
export const updateSavings = (check = false): boolean => updateSection('savings.json', savingsLines, check)
