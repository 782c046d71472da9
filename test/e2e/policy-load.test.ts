import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** The most expensive requests to the policy tools do not block the event loop for other requests, and each caller runs one at a time. */
const upstream = useUpstream();
const live = useLivePolicy(() => ({
  'policy.yaml': testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } }),
}));
const post = (path: string, body: object, key = live.box.key) =>
  live.box.post(`/admin/policy/${path}`, body, withKey(key));

/** Returns which share of a request's time the longest turn of the event loop takes. During that turn, no other request is served. */
async function longestShare(send: () => Promise<Response>): Promise<number> {
  let [longest, isOver] = [0, false];
  const began = performance.now();
  let last = began;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const answer = await send();
  await answer.arrayBuffer();
  isOver = true;
  expect(answer.status).toBe(200);
  return longest / (performance.now() - began);
}

/** Comments that make the lines of every file different, some of them at other positions. */
const comments = (seed: number, files = 60) =>
  Array.from({ length: files }, (_, file) => {
    const lines = Array.from(
      { length: 700 },
      (_, at) => `# ${at}: ${(at * 7_919 + (file + seed) * 104_729) % 1_009}\n`,
    );
    return { name: `file-${file}.yaml`, text: lines.join('') };
  });

/** Models with names of their own, each with its own price. */
const models = (name: string, priceFrom: number) => [
  {
    name: 'models.yaml',
    text: `models:\n${Array.from({ length: 1_500 }, (_, at) => `  ${name}-${at}: { price: { input: ${priceFrom + at} } }\n`).join('')}`,
  },
];

/**
 * Shares of the whole work, independent of the speed of the machine. If the work were done in one piece, one turn would take nearly all of
 * it.
 */
const [HALF, QUARTER] = [0.5, 0.25];

describe('the server handles other requests during:', () => {
  test('a patch of many rewritten files', async () => {
    // The patch compares with the files on disk.
    for (const { name, text } of comments(0)) live.write(name, text);
    await live.reload();
    const share = await leastOf(HALF, () => longestShare(() => post('patch', { changes: comments(500) })));
    expect(share).toBeLessThan(HALF);
  });

  test('a difference of many rewritten files', async () => {
    const body = { a: { changes: comments(0, 30) }, b: { changes: comments(500, 30) } };
    const share = await leastOf(QUARTER, () => longestShare(() => post('diff', body)));
    expect(share).toBeLessThan(QUARTER);
  });

  test('a check of hundreds of unknown names among hundreds of models', async () => {
    const one = (at: number) =>
      `  ${'m'.repeat(90)}${at}: { provider: first, upstream: x, price: { input: 1, output: 1 }, context_window: 1000, max_output: 100, quality: { default: 0.5 } }\n`;
    const wrong = (at: number) =>
      `  - { name: c${at}, given: { model: ${'q'.repeat(90)}${at} }, expect: { task: coding } }\n`;
    const times = (number: number, text: (at: number) => string) => Array.from({ length: number }, (_, at) => text(at));
    const changes = [
      { name: 'more.yaml', text: `models:\n${times(130, one).join('')}` },
      { name: 'wrong.yaml', text: `cases:\n${times(70, wrong).join('')}` },
    ];
    const share = await leastOf(HALF, () => longestShare(() => post('check', { changes })));
    expect(share).toBeLessThan(HALF);
  });

  test('a difference in which thousands of models may have been renamed', async () => {
    const body = { a: { files: models('old', 1) }, b: { files: models('new', 10_000) } };
    const share = await leastOf(QUARTER, () => longestShare(() => post('diff', body)));
    expect(share).toBeLessThan(QUARTER);
  });
});

test('the server computes one policy patch or difference at a time for a caller, and serves other callers in parallel', async () => {
  const changes = comments(500);
  const other = await live.box.makeKey('--scope', 'report');
  const answers = await Promise.all([
    post('patch', { changes }),
    post('patch', { changes }),
    post('diff', { a: { changes }, b: {} }),
    post('patch', { changes }, other),
  ]);
  const statuses = answers.map(({ status }) => status);
  expect(statuses.slice(0, 3).sort()).toEqual([200, 429, 429]);
  expect(statuses[3]).toBe(200);
  const refused = answers.find(({ status }) => status === 429)!;
  expect((await expectError(refused, 'rate_limit_exceeded')).message).toContain('still running');
  expect((await post('patch', { changes })).status).toBe(200);
});

describe('an explanation', () => {
  const prompt = (bytes: number) => ({
    request: {
      model: 'auto',
      messages: [{ role: 'user', content: 'prove that it holds, and how. '.repeat(bytes / 30) }],
    },
  });

  test('an explanation accepts a body of at most 256 KiB, with or without a stated length', async () => {
    expect((await post('explain', prompt(250_000))).status).toBe(200);
    const stated = await expectError(await post('explain', prompt(300_000)), 'request_too_large');
    expect(stated.message).toContain('262144');
    const stream = new Blob([JSON.stringify(prompt(9_000_000))]).stream();
    const unstated = await fetch(`${live.box.url}/admin/policy/explain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${live.box.key}`, 'content-type': 'application/json' },
      body: stream,
    });
    await expectError(unstated, 'request_too_large');
    // A recommendation has the same limits as a real request, because the same body is read.
    await expectError(await live.box.post('/v1/route', prompt(300_000).request), 'context_length_exceeded', 'messages');
  });

  test('several explanations at once are answered, or refused while one of the same caller runs', async () => {
    await Bun.sleep(1_100);
    const other = await live.box.makeKey('--scope', 'report');
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => post('explain', prompt(250_000))),
      post('explain', prompt(250_000), other),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.at(-1)).toBe(200);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(1);
    for (const refused of answers.filter(({ status }) => status !== 200))
      expect((await expectError(refused, 'rate_limit_exceeded')).message).toContain(
        'explanation of yours is still running',
      );
    expect((await post('explain', prompt(1_000))).status).toBe(200);
  });
});
