import { chance, nested, odd, pick } from '../../../platform/http/odd-requests.ts'

/** Numbers at and beyond the limits of integers, dates and doubles, and texts that some parsers take for numbers. */
const numbers = [
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    '-0',
    '+1',
    '1.5',
    '.5',
    '1e400',
    '1e-400',
    '0x10',
    '0b1',
    '1_000',
    '1,000',
    '１',
  ],
  ...['2147483648', '4294967296', '9007199254740993', '9223372036854775807', '9223372036854775808', '8640000000000001'],
  ...['-1', '-9223372036854775809', '1'.repeat(400), '0'.repeat(400)],
]

/** JSON values where the protocol wants a string. */
export const jsonValues: readonly unknown[] = [
  ...[0, -1, 1.5, 1e308, 2 ** 53, true, false, null, [], {}, [[]], ['x'], ['x', 'x'], [null], { x: 1 }],
  ...[{ toString: 'x' }, { length: -1 }, { valueOf: null }, Array(150).fill('a')],
]

/** Claims of odd types and sizes. */
const claims = [
  ...['null', '1', '"x"', '[]', '[{}]', '{"id_token":null}', '{"id_token":[]}', '{"id_token":1}', '{"userinfo":"x"}'],
  ...['{"id_token":{"acr":{"value":1e400}}}', '{"id_token":{"acr":{"values":{}}}}', '{"id_token":{"acr":[]}}'],
  ...['{"id_token":{"sub":{"value":{}}}}', '{"id_token":{"auth_time":{"essential":1}}}', '{"id_token":{"":null}}'],
  ...[`{"id_token":{"${'x'.repeat(3_000)}":null}}`, `{"id_token":${nested(2_000)}}`, '{"id_token":{"\\ud800":null}}'],
  `{"id_token":{${Array.from({ length: 200 }, (_, i) => `"c${i}":null`).join(',')}}}`,
]

/** An odd value for a parameter. */
export const oddValue = (name: string): string =>
  name === 'claims' ? pick(claims) : chance(0.4) ? pick(numbers) : pick(odd)
