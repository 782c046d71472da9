import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createLog, type LogFields, type LogStyle, logFamilies, styleOf } from '../../../src/host/telemetry/log.ts';
import { waitFor } from '../../support/answers.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';

const AT = new Date(2026, 10, 20, 9, 30, 5).getTime();
const JSON_LINES: LogStyle = { pretty: false };
const PRETTY: LogStyle = { pretty: true };
const COLOURED: LogStyle = { pretty: true, colours: true };

function textOf(
  looks: LogStyle & { readonly instance?: number },
  write: (log: ReturnType<typeof createLog>) => void,
): string {
  let text = '';
  const log = createLog({
    ...looks,
    now: () => AT,
    write(lines) {
      text += lines;
    },
  });
  write(log);
  log.flush();
  return text;
}

const CHAT: LogFields = {
  request: 'req_0a4x1wm3zk0',
  key: 'k7mw2pq9x4ta',
  status: 200,
  decision: 'dec_0a4x1wm3zk1',
  selector: 'auto',
  model: 'gpt-6-luna',
  endpoint: 'openai/gpt-6-luna-2026',
  reason: 'auto:usual',
  attempts: 1,
  input_tokens: 1204,
  output_tokens: 356,
  credits: 0.0123,
  ttft_ms: 312,
  total_ms: 2149,
  outcome: 'completed',
};
const chat = (fields: LogFields, looks = PRETTY) => textOf(looks, (log) => log.info('chat', { ...CHAT, ...fields }));

describe('the log', () => {
  test('each log line of one of several processes names the process, as its metrics do', () => {
    const write = (log: ReturnType<typeof createLog>) => log.info('listening', { address: 'here' });
    expect(JSON.parse(textOf({ ...JSON_LINES, instance: 2 }, write))).toMatchObject({ instance: '2', address: 'here' });
    expect(textOf({ ...PRETTY, instance: 2 }, write)).toBe('09:30:05 #2 listening  address=here\n');
  });

  test('the log writes complete lines, in batches, and in time', async () => {
    const taken: string[] = [];
    const log = createLog({ ...JSON_LINES, now: () => AT, write: (lines) => taken.push(lines) });
    log.info('one');
    log.warn('two', { n: 2 });
    expect(taken).toEqual([]);
    await waitFor(() => taken.length > 0);
    expect(taken.map((lines) => lines.split('\n').length)).toEqual([3]);
    log.error('x'.repeat(70_000));
    expect(taken.length).toBe(2);
    log.flush();
    expect(taken.length).toBe(2);
  });

  test('the log counts its lines by level, and the lines that the sink drops', () => {
    const log = createLog({ ...JSON_LINES, now: () => AT, write: () => {} });
    log.info('a');
    log.info('b');
    log.error('c');
    log.flush();
    const page = logFamilies(log, { lost: 7 }).map((family) => [family.name, [...family.samples()]]);
    expect(page).toEqual([
      [
        'signalbox_log_lines_total',
        [
          [{ level: 'info' }, 2],
          [{ level: 'warn' }, 0],
          [{ level: 'error' }, 1],
        ],
      ],
      ['signalbox_log_lines_lost_total', [[{}, 7]]],
    ]);
  });

  test('in mode `off` the log writes and counts only warnings and errors', () => {
    const log = createLog({ ...styleOf('off', false, undefined), now: () => AT, write: () => {} });
    log.info('chat');
    log.warn('chat');
    log.error('policy refused');
    log.flush();
    expect(log.counts).toEqual({ info: 0, warn: 1, error: 1 });
    expect(textOf(styleOf('off', false, undefined), (other) => other.info('chat'))).toBe('');
  });

  test('the log has the chosen format; by default pretty on a terminal, and JSON elsewhere', () => {
    expect(styleOf('auto', true, undefined)).toEqual({ pretty: true, colours: true, quiet: false });
    expect(styleOf('auto', false, undefined)).toEqual({ pretty: false, colours: false, quiet: false });
    expect(styleOf('json', true, undefined).pretty).toBe(false);
    expect(styleOf('pretty', false, undefined)).toEqual({ pretty: true, colours: false, quiet: false });
    expect(styleOf('off', true, undefined)).toEqual({ pretty: true, colours: true, quiet: true });
    expect(styleOf('auto', true, '1').colours).toBe(false);
    expect(styleOf('auto', true, '').colours).toBe(true);
  });

  test('a JSON log line is valid JSON for any fields', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCodePoint }),
        fc.dictionary(fc.string(), fc.string({ unit: anyCodePoint })),
        (said, more) => {
          const text = textOf(JSON_LINES, (log) => log.warn(said, { ...more, time: undefined, level: undefined }));
          expect(text.indexOf('\n')).toBe(text.length - 1);
          expect(JSON.parse(text)).toMatchObject({ level: 'warn' });
        },
      ),
    );
  });
});

describe('a pretty line', () => {
  test('a pretty line shows the event, then its fields', () => {
    const write = (log: ReturnType<typeof createLog>) =>
      log.warn('an attempt failed', { kind: 'timeout', status: 504 });
    expect(textOf(PRETTY, write)).toBe('09:30:05 warn: an attempt failed  kind=timeout  status=504\n');
    expect(textOf(COLOURED, write)).toBe(
      '\u001b[2m09:30:05\u001b[0m \u001b[33mwarn: \u001b[0man attempt failed\u001b[2m  kind=timeout\u001b[0m\u001b[2m  status=504\u001b[0m\n',
    );
  });

  test('a pretty line shows a chat in one line', () => {
    expect(chat({})).toBe(
      '09:30:05 200 auto → gpt-6-luna @ openai  1204→356 tokens  0.0123 Credits  ttft 312 ms  total 2.1 s  key k7mw2pq9x4ta\n',
    );
  });

  test('a pretty line shows anything unusual in colour, with the ID to look it up', () => {
    const fields = {
      status: 502,
      outcome: 'failed',
      error: 'upstream_failed',
      reason: 'auto:usual:fallback',
      failures: 'openai/gpt-6-luna:server_error',
      ttft_ms: undefined,
    };
    expect(chat(fields)).toBe(
      '09:30:05 502 auto → gpt-6-luna @ openai  failed  upstream_failed  fallback  after openai/gpt-6-luna:server_error' +
        '  1204→356 tokens  0.0123 Credits  total 2.1 s  key k7mw2pq9x4ta  dec_0a4x1wm3zk1\n',
    );
    const coloured = chat(fields, COLOURED);
    expect(coloured).toContain('\u001b[31m502\u001b[0m');
    expect(coloured).toContain('\u001b[31mupstream_failed\u001b[0m');
    expect(coloured).toContain('\u001b[33mafter openai/gpt-6-luna:server_error\u001b[0m');
  });

  test('a pretty line shows any other request by its route', () => {
    const fields = {
      request: 'req_1',
      method: 'GET',
      route: '/v1/models',
      status: 401,
      error: 'invalid_api_key',
      total_ms: 1,
    };
    expect(textOf(PRETTY, (log) => log.info('request', { ...fields, suppressed: 12 }))).toBe(
      '09:30:05 401 GET /v1/models  invalid_api_key  12 similar lines are not shown  total 1 ms  req_1\n',
    );
  });

  test('a pretty line shows a request that got no answer', () => {
    expect(textOf(PRETTY, (log) => log.info('chat', { request: 'req_1', total_ms: 1 }))).toBe(
      '09:30:05 --- chat  total 1 ms\n',
    );
  });

  test('a pretty line shows the stack of a defect with one frame in each line', () => {
    const stack = 'Error: no\n    at one (a.ts:1)\n    at two\u001b[2J (b.ts:2)';
    expect(textOf(PRETTY, (log) => log.error('a request failed: internal error', { request: 'req_1', stack }))).toBe(
      '09:30:05 error: a request failed: internal error  request=req_1\n    Error: no\n    at one (a.ts:1)\n    at two\ufffd[2J (b.ts:2)\n',
    );
  });

  test('a pretty line shows a long list below its event, in lines that break after a comma', () => {
    const items = Array.from({ length: 12 }, (_, at) => `provider-${at} (KEY_${at}\u001b[2J is not set)`);
    const text = textOf(PRETTY, (log) =>
      log.info('some providers are not used', { providers: items.join(', '), count: 12 }),
    );
    const [head, ...lines] = text.trimEnd().split('\n');
    expect(head).toBe('09:30:05 some providers are not used  count=12');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/^ {4}[^\p{Cc}]{1,104}$/u);
    for (const line of lines.slice(0, -1)) expect(line).toEndWith(',');
    expect(lines.map((line) => line.trim()).join(' ')).toBe(
      `providers=${items.join(', ').replaceAll('\u001b', '\ufffd')}`,
    );
    // A single long text is not a list.
    const sentence = 'so many words '.repeat(20).trim();
    expect(textOf(PRETTY, (log) => log.info('said', { detail: sentence }))).toBe(`09:30:05 said  detail=${sentence}\n`);
  });

  const control = fc.constantFrom(
    '\u001b[2J',
    '\u0007',
    '\r',
    '\n',
    '\u0085',
    '\u009b31m',
    '\u202e',
    '\u2028',
    '\ud800',
    '\u007f',
  );
  const value = fc
    .array(fc.oneof(control, fc.string({ unit: anyCodePoint })))
    .map((parts) => parts.join('').replaceAll(', ', ','));
  const name = fc.constantFrom(
    'request',
    'status',
    'model',
    'selector',
    'endpoint',
    'error',
    'failures',
    'outcome',
    'decision',
    'detail',
    'method',
    'route',
    'suppressed',
    'credits',
  );

  test('a pretty line passes no control character to the terminal', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(name, value), value),
        fc.oneof(fc.constantFrom('chat', 'request'), value),
        (fields, said) => {
          for (const level of ['info', 'warn', 'error'] as const) {
            const text = textOf(PRETTY, (log) => log[level](said, { request: 'req_1', ...fields, stack: undefined }));
            expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
            expect(text).toEndWith('\n');
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
