import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { RUN_MIN } from '../../../src/core/text/runs.ts';
import { createLog, type LogFields } from '../../../src/host/telemetry/log.ts';
import {
  hasForeignKey,
  hasSecret,
  mask,
  registerForeignKey,
  registerSecrets,
  registerToken,
  scrub,
  scrubAll,
} from '../../../src/host/telemetry/secrets.ts';

/** Creates a secret like the secrets of providers: random letters and digits. */
const makeSecret = () => Buffer.from(crypto.getRandomValues(new Uint8Array(30))).toString('base64url');
const SECRETS = Array.from({ length: 5 }, makeSecret);
const ODD = 'pass"word\\with/odd+signs=9';
registerSecrets([...SECRETS, ODD, undefined, '', null]);

/** Returns every piece of a secret that must not appear. */
const piecesOf = (secret: string) =>
  Array.from({ length: secret.length - RUN_MIN + 1 }, (_, at) => secret.slice(at, at + RUN_MIN));
/** Eight letters of the same case could be a word, so they may appear on their own. */
const leaks = (text: string) => SECRETS.flatMap(piecesOf).filter((piece) => text.includes(piece));

const secret = fc.constantFrom(...SECRETS);
const words = fc.string({ unit: fc.constantFrom(...'abc XYZ 019 .,:;/"\\\n{}[]-_'), maxLength: 40 });

describe('a scrubbed text', () => {
  test('a scrubbed text has no registered secret, and no long piece of one', () => {
    const piece = fc
      .tuple(secret, fc.nat(), fc.nat())
      .map(([text, from, length]) => text.slice(from % 28, (from % 28) + 12 + (length % 28)));
    fc.assert(
      fc.property(fc.array(fc.tuple(words, fc.oneof(secret, piece)), { maxLength: 6 }), words, (parts, end) => {
        const text = parts.map(([before, inside]) => `${before}${inside}`).join('') + end;
        const clean = scrub(text);
        expect(leaks(clean)).toEqual([]);
        expect(scrub(clean)).toBe(clean);
        expect(mask(text).length).toBe(text.length);
        expect(parts.some(([, inside]) => SECRETS.includes(inside)) && leaks(mask(text)).length > 0).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('a text without secrets is not changed', () => {
    fc.assert(
      fc.property(words, (text) => {
        expect(scrub(text)).toBe(text);
        expect(hasSecret(text)).toBe(false);
      }),
      { numRuns: 300 },
    );
    const said =
      'The upstream refused: invalid authorization header; see docs (bearer tokens), task-force, eye, sketch.';
    expect(scrub(said)).toBe(said);
    const help = 'Send an API key in the header Authorization: Bearer sb_live_… or x-api-key: sb_live_….';
    expect(scrub(help)).toBe(help);
  });

  test('a scrubbed text has no secret of thousands of characters', () => {
    const long = Array.from({ length: 100 }, makeSecret).join('');
    registerSecrets([long]);
    expect(hasSecret(`It is ${long}.`)).toBe(true);
    expect(scrub(`It is ${long}.`)).toBe('It is [secret].');
    expect(mask(`It is ${long}.`)).toBe(`It is ${'*'.repeat(long.length)}.`);
  });

  test('a scrubbed text keeps a word that is part of a secret, and loses a longer part', () => {
    registerSecrets(['upstream-secret-for-tests']);
    expect(scrub('the upstream said no')).toBe('the upstream said no');
    expect(scrub('the upstream-secret said no')).toBe('the [secret] said no');
  });

  test('a scrubbed text keeps short values and addresses', () => {
    registerSecrets(['ollama', 'http://127.0.0.1:11434/v1', 'workstation', '  ']);
    const said = 'ollama on the workstation at http://127.0.0.1:11434/v1 answers';
    expect(scrub(said)).toBe(said);
  });

  for (const [what, text] of [
    ['a gateway key', `sb_live_k7mw2pq9x4ta_${makeSecret()}`],
    ['an OpenAI key', 'sk-proj-Abcdefghijkl0123'],
    ['a Groq key', 'gsk_abcdefghijkl0123'],
    ['an xAI key', 'xai-abcdefghijklmnop'],
    ['a Google key', 'AIzaSyAbcdefghijklmnopqrstu'],
    ['an AWS key', 'AKIAIOSFODNN7EXAMPLE'],
    ['a token of Hugging Face', 'hf_abcdefghijklmnop'],
    ['a token of GitHub', 'ghp_abcdefghijklmnop'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
    ['a bearer token', 'Bearer abcdef012345678'],
    ['a header', 'authorization: Basic dXNlcjpwYXNzd29yZA=='],
    ['a header in JSON', '"x-api-key": "0123456789abcdef"'],
    ['a registered secret in JSON', JSON.stringify(ODD).slice(1, -1)],
    ['a registered secret in a URL', encodeURIComponent(ODD)],
  ] as const) {
    test(`a scrubbed text contains no ${what}`, () => {
      const clean = scrub(`before ${text} after`);
      expect(clean).toStartWith('before ');
      expect(clean).toEndWith(' after');
      expect(clean).toContain('[secret]');
      expect(hasSecret(text)).toBe(true);
      for (const piece of text.match(/[\w+=/-]{12,}/g) ?? []) expect(clean).not.toContain(piece);
    });
  }
});

test('scrubbed JSON is still valid JSON, and differs only in texts and names with secrets', () => {
  fc.assert(
    fc.property(fc.dictionary(words, fc.oneof(fc.integer(), words, secret)), (value) => {
      const text = JSON.stringify(scrubAll({ error: value, [`of ${SECRETS[0]}`]: 1 }));
      expect(leaks(text)).toEqual([]);
      expect(Object.values(JSON.parse(text).error).filter(Number.isInteger)).toEqual(
        Object.values(value).filter(Number.isInteger),
      );
    }),
    { numRuns: 300 },
  );
});

describe('the keys of other gateways', () => {
  const KEYS = ['team-billing/7Jq+2', 'acme_Zx81kQw02mBn', 'plain-words-of-a-key'];

  test('a registered key is found in its whole text only, and other texts stay', () => {
    for (const key of KEYS) registerForeignKey(key);
    for (const key of KEYS) {
      for (const text of [key, `key=${key}`, `{"a":${JSON.stringify(key)}}`, `?key=${encodeURIComponent(key)}&b`]) {
        expect([hasSecret(text), hasForeignKey(text)]).toEqual([true, true]);
        expect(scrub(text)).not.toContain(key.slice(0, 9));
        expect(mask(text).length).toBe(text.length);
        expect(mask(text)).not.toContain(key.slice(0, 9));
      }
    }
    for (const text of ['team-billing', 'plain-words', 'of-a-key', `x${KEYS[1]}`]) expect(scrub(text)).toBe(text);
  });

  test('a key of less than 8 characters is not registered, because words may equal it', () => {
    registerForeignKey('summary');
    expect(scrub('a summary of it')).toBe('a summary of it');
  });
});

describe('the log', () => {
  function lines(pretty: boolean, write: (log: ReturnType<typeof createLog>) => void): string {
    let text = '';
    const log = createLog({
      write: (more) => {
        text += more;
      },
      pretty,
      now: () => Date.UTC(2026, 10, 20, 9, 30),
    });
    write(log);
    log.flush();
    return text;
  }

  const field = fc.oneof(
    fc.integer(),
    fc.boolean(),
    fc.constant(undefined),
    words,
    secret,
    secret.map((one) => `key ${one}.`),
  );

  test('the log writes no secret at any level, in either format, in a message or a field', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'detail', 'upstream_message'), field),
        fc.oneof(
          fc.constant('chat'),
          secret.map((one) => `used ${one}`),
        ),
        fc.constantFrom('info', 'warn', 'error'),
        (fields, message, level) => {
          for (const pretty of [true, false]) {
            const text = lines(pretty, (log) => log[level](message, fields));
            expect(leaks(text)).toEqual([]);
            if (!pretty) expect(JSON.parse(text)).toMatchObject({ level, time: '2026-11-20T09:30:00.000Z' });
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('the log writes everything that is not secret unchanged', () => {
    const fields: LogFields = {
      decision: 'dec_0a4x1wm3zk0',
      model: 'gpt-6-luna',
      tokens: 7,
      ok: true,
      none: undefined,
    };
    expect(lines(false, (log) => log.info('chat', fields))).toBe(
      '{"time":"2026-11-20T09:30:00.000Z","level":"info","message":"chat","decision":"dec_0a4x1wm3zk0","model":"gpt-6-luna","tokens":7,"ok":true}\n',
    );
    expect(lines(true, (log) => log.warn('chat', fields))).toBe(
      '09:30:00 warn: chat  decision=dec_0a4x1wm3zk0  model=gpt-6-luna  tokens=7  ok=true\n',
    );
  });

  test('the log removes a secret as soon as it is registered', () => {
    const late = makeSecret();
    const write = () => lines(false, (log) => log.info('reloaded', { detail: late }));
    expect(write()).toContain(late);
    registerSecrets([late]);
    expect(write()).not.toContain(late.slice(0, RUN_MIN));
  });
});

test('a token is a secret until it is forgotten, and other secrets stay', () => {
  const [first, second] = [makeSecret(), makeSecret()];
  const forget = [registerToken(first), registerToken(second)];
  expect(scrub(`${first} ${second}`)).toBe('[secret] [secret]');
  forget[0]!();
  forget[0]!();
  expect([hasSecret(first), scrub(first)]).toEqual([false, first]);
  expect(scrub(`${second} ${SECRETS[0]}`)).toBe('[secret] [secret]');
  forget[1]!();
  expect(scrub(`${second} ${SECRETS[0]}`)).toBe(`${second} [secret]`);
});
