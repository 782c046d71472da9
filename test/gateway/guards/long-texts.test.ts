import { describe, expect, test } from 'bun:test';
import { isDeep } from '../../deep/effort.ts';
import { expectError } from '../../support/error-contract.ts';
import { leastOf } from '../../support/in-time.ts';
import { useGateways, useUpstream } from '../../support/use.ts';
import { guardedPolicy, PLACEHOLDER, startGuarded } from './support.ts';

const upstream = useUpstream();
const gatewayWith = useGateways();
const boxWith = (guards: string) => gatewayWith(guardedPolicy(upstream.url, guards));

/** Reading a long body takes some of this, too. Without turns, the guard alone takes seconds. */
const TURN_MS = 500;

/** Returns the longest time between two turns of the event loop while something runs, ms. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  try {
    await work();
    return longest;
  } finally {
    clearInterval(timer);
  }
}

const ask = (content: string) => ({ model: 'best', messages: [{ role: 'user', content }] });
const personal = (rest: string) => `  - { name: pii, guard: personal-data, on: [input, output], ${rest} }`;

const CARDS = '4111 1111 1111 1112 '.repeat(isDeep ? 495_000 : 100_000);

test('a long body without a match lets other requests in, whether the guard ends in time or not', async () => {
  const box = await boxWith(personal('on_match: block, deadline_ms: 1000'));
  expect(await leastOf(TURN_MS, () => longestTurn(() => box.post('/v1/route', ask(CARDS))))).toBeLessThan(TURN_MS);
});

test('a guard that inspects a long text in turns ends at its deadline', async () => {
  const box = await boxWith(personal('on_match: block, deadline_ms: 20'));
  await expectError(await box.post('/v1/route', ask(CARDS)), 'guard_failed');
});

test('a long request and a long answer are masked everywhere', async () => {
  const box = await boxWith(personal('on_match: mask, deadline_ms: 60000'));
  const text = `${'Nothing is in this sentence. '.repeat(250)}Write to ada@example.com. `.repeat(12);
  upstream.next({ text });
  const response = await box.post('/v1/chat/completions', ask(text));
  if (response.status !== 200) throw new Error(await response.text());
  const sent = upstream.requests.at(-1)!.text;
  const shown = await response.text();
  for (const one of [sent, shown]) {
    expect(one).not.toContain('ada@example.com');
    expect(new Set(one.match(PLACEHOLDER)).size).toBe(1);
    expect(one.match(PLACEHOLDER)).toHaveLength(12);
  }
});

const MANY = 'a '.repeat(isDeep ? 4_900_000 : 100_000);
const dense = (rest: string) =>
  `  - { name: many, guard: words, settings: { deny: [a] }, deadline_ms: 60000, ${rest} }`;

describe('a match every two characters', () => {
  test('is blocked by a guard that masks, although a failure would pass', async () => {
    const box = await boxWith(dense('on: [input], on_match: mask, on_failure: flag'));
    const { message } = await expectError(await box.post('/v1/route', ask(MANY)), 'content_blocked', 'messages[0]');
    expect(message).toContain('65536 word or more');
    expect(message).toContain('cannot mask so many');
  });

  test('blocks an answer that is masked', async () => {
    const box = await boxWith(dense('on: [output], on_match: mask, on_failure: flag'));
    upstream.next({ text: 'a '.repeat(70_000) });
    const { message } = await expectError(await box.post('/v1/chat/completions', ask('Hi.')), 'content_blocked');
    expect(message).toContain('65536 word or more');
  });
});

test('an answer that is longer than its guard can inspect says so, and is not tried again', async () => {
  const box = await boxWith(
    '  - { name: form, guard: json-schema, settings: { schema: { type: object } }, on: [output], on_match: block }',
  );
  upstream.next({ text: `{"a": "${'x'.repeat(600_000)}"}` });
  const response = await box.post('/v1/chat/completions', ask('Hi.'));
  if (response.status !== 503) throw new Error(await response.text());
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(await response.text()).toContain('more text than the guard can inspect');
});

test('patterns of many guards that take much memory together are refused', async () => {
  const box = await boxWith(personal('on_match: block'));
  const guards = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const settings = JSON.stringify({ longest_match: 256, patterns: Array(8).fill('(a|b|c){1,500}') });
      return `  - { name: w${at}, guard: words, on_match: flag, settings: ${settings} }`;
    }).join('\n');
  const check = async (count: number): Promise<{ diagnostics: readonly { message: string }[] }> => {
    const files = [{ name: 'policy.yaml', text: guardedPolicy(upstream.url, guards(count)) }];
    return JSON.parse(await (await box.post('/admin/policy/check', { files })).text());
  };
  expect(await check(2)).toMatchObject({ errors: 0 });
  const { diagnostics } = await check(4);
  expect(diagnostics).toHaveLength(2);
  expect(diagnostics[0]?.message).toContain('at most 65,536 are possible');
});

test('patterns that take much memory are refused before they are compiled', async () => {
  const patterns = Array.from({ length: 900 }, (_, at) => `(a|b|c${at}){1,300}`);
  const before = process.memoryUsage().rss;
  const guard = (settings: object) =>
    `  - { name: w, guard: words, on_match: flag, settings: ${JSON.stringify(settings)} }`;
  const errorFor = (settings: object) => startGuarded(upstream.url, guard(settings)).then(() => '', String);
  expect(await errorFor({ patterns })).toContain('too large together');
  expect(await errorFor({ patterns: ['(?:(?:a{1,30}){1,30}){1,30}'] })).toContain('at most 4,096');
  expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
});

describe('arguments of a tool call with very many values', () => {
  const withArguments = (values: number, text: string) => ({
    model: 'best',
    messages: [
      { role: 'user', content: 'Call it.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'f', arguments: `[${'1,'.repeat(values - 1)}"${text}"]` },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'array' } } }],
  });
  const EMAIL = String.raw`ada\u0040example.com`;

  const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: string } }).error?.code;

  test('are not read by a guard that blocks, and do not pass as inspected', async () => {
    const box = await boxWith(personal('on_match: block'));
    expect(await codeOf(await box.post('/v1/route', withArguments(1_000, EMAIL)))).toBe('content_blocked');
    await expectError(await box.post('/v1/route', withArguments(150_000, EMAIL)), 'guard_failed', null, false);
  });

  test('are not refused by a guard that only counts', async () => {
    const box = await boxWith(personal('on_match: flag, on_failure: flag'));
    // The prompt is too long for the model.
    const answer = await box.post('/v1/route', withArguments(150_000, EMAIL));
    expect(await codeOf(answer)).toBe('context_length_exceeded');
  });
});
