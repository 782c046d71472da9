import fc from 'fast-check';
import { makeTestKey, type Signalbox } from '../../support/signalbox.ts';
import { JSON_TYPE } from './support.ts';

/** Bearer values that contain SQL, and a server that must not execute any of it. */
export const KEY_ID = 'test00000042';
export const ENV = { SIGNALBOX_API_KEY: makeTestKey(KEY_ID) };
/** The name of a key that no answer may contain. */
export const CANARY = 'canary-name-of-a-key';

const SQL = [
  ...[
    "'",
    '"',
    '`',
    ';',
    '--',
    '#',
    '/*',
    '*/',
    '\\',
    '%',
    '_',
    '$1',
    '$$',
    '?',
    ')',
    '(',
    '%27',
    "''",
    '\u00a0',
    '\u00ff',
  ],
  ...[
    ' OR 1=1',
    " OR ''='",
    ' UNION SELECT id, hash, name FROM keys',
    '; DROP TABLE keys',
    "; UPDATE keys SET scopes='admin'",
  ],
  ...[
    ' OR (SELECT pg_sleep(8)) IS NOT NULL',
    " OR id LIKE '%",
    ' IN (SELECT hash FROM keys)',
    "E'\\x27'",
    "x'00'",
    'NULL',
    'true',
  ],
];
const fragment = fc.oneof(fc.constantFrom(...SQL), fc.string({ unit: 'grapheme-ascii', maxLength: 12 }));
/** Some of these tokens begin like a key of this server, or have the full length of a key. */
export const bearer = fc
  .tuple(
    fc.constantFrom('', 'sb_live_', `sb_live_${KEY_ID}_`, `sb_live_${KEY_ID}_${'A'.repeat(43)}`, `${KEY_ID}`),
    fc.array(fragment, { minLength: 1, maxLength: 8 }),
    fc.constantFrom(1, 1, 1, 100),
  )
  .map(([start, parts, times]) => start + parts.join('').repeat(times).slice(0, 12_000))
  .filter((text) => text.trim() !== '');
export type Ask = (bearer: string) => Promise<{ readonly status: number; readonly text: string }>;
export const isSafe =
  (ask: Ask) =>
  async (value: string): Promise<boolean> => {
    const { status, text } = await ask(value);
    return status === 401 && !/canary|sqlite|syntax error|near \\?"|select /i.test(text);
  };

const WAYS = [
  ['POST', '/v1/chat/completions', 'authorization'],
  ['POST', '/v1/messages', 'x-api-key'],
  ['GET', '/v1/models', 'api-key'],
  ['GET', '/admin/keys', 'authorization'],
] as const;
/** Makes a function that sends a value to a server in each possible header in turn. */
export function askAt({ url }: Signalbox): Ask {
  let nth = 0;
  return async (value) => {
    const [method, path, name] = WAYS[nth++ % WAYS.length]!;
    const headers = { ...JSON_TYPE, [name]: name === 'authorization' ? `Bearer ${value}` : value };
    const response = await fetch(url + path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
    return { status: response.status, text: await response.text() };
  };
}
export const withCanary = (server: Signalbox) => server.post('/admin/keys', { name: CANARY });
