import { describe, expect, test } from 'bun:test';
import type { FinishReason, ProviderFailure, StreamPart } from '../../../src/contract/parts.ts';
import type { Price } from '../../../src/core/money/price.ts';
import { plainUsage, type Usage } from '../../../src/core/money/usage.ts';
import type { Facts } from '../../../src/core/request/facts.ts';
import { Attempt } from '../../../src/gateway/exchange/attempt.ts';
import type { RunnableRequest } from '../../../src/gateway/exchange/runnable-request.ts';
import { arrived } from '../../../src/providers/arrival.ts';
import type { UpstreamCall } from '../../../src/providers/upstream-call.ts';
import { facts, model, price, snapshot } from '../../routing/build.ts';
import { chatRequest } from '../../support/model-request.ts';
import { nextBatch, targetOf } from '../../support/provider-call.ts';
import { contextWith } from '../../support/request-context.ts';

const said: StreamPart = { type: 'text', choice: 0, text: 'x' };
const DEADLINES = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000, totalMs: 4_000 };

interface Options {
  readonly sent?: boolean;
  readonly deadlineAt?: number;
  readonly choices?: number;
  readonly stream?: boolean;
  readonly of?: Partial<Facts>;
  readonly reasoningTokens?: number;
  readonly cap?: number;
  readonly cost?: Price;
  readonly bills?: 'whole' | 'unknown';
  /** The expected length of an answer to its task, in tokens. */
  readonly usual?: number;
}

type Remembered = Record<'inputTokens' | 'expectedTokens' | 'at', number>;

/**
 * Starts an attempt on a fake clock whose call returns these batches at their times. Also returns what the attempt reports about its
 * endpoint.
 */
function attempting(more: Options = {}) {
  const { sent = true, deadlineAt = 4_000, choices = 1, stream = true, of = {}, reasoningTokens = 0, cap = 30 } = more;
  const { cost = price(1, 4), bills = 'unknown', usual = 400 } = more;
  const from = snapshot([model('a', { deadlines: DEADLINES, reasoningTokens, cost })]);
  const told: unknown[] = [];
  const remembered: (Remembered & { readonly mark: number })[] = [];
  const reporter = {
    read: () => {},
    answered: () => {},
    completed: (...figures: unknown[]) => told.push(['completed', ...figures]),
    failed: ({ kind }: ProviderFailure, blame: boolean) => told.push([kind, blame]),
    dropped: () => told.push(['dropped']),
  };
  let now = 0;
  const provider = { passthrough: new Set(), afterAbort: { bills } };
  const [only] = from.models;
  const upstream = {
    ...targetOf(null),
    model: only,
    at: 0,
    endpoint: only!.endpoints[0],
    provider,
    health: {},
    slot: 0,
  };
  const runnable = {
    runtime: {
      snapshot: { ...from, providers: new Map([['p', provider]]) },
      outputs: { observe: (...seen: unknown[]) => told.push(['saw', ...seen]) },
    },
    request: chatRequest({ model: 'a', messages: [], stream }),
    history: {
      keeps: () => true,
      noteAnswer: (_: object, read: Remembered, { mark }: { readonly mark: number }) =>
        remembered.push({ ...read, mark }),
    },
    decision: {
      facts: facts({ choices, ...of }),
      readings: { ttftMs: [100], tokensPerSecond: [50], outputTokens: [usual] },
    },
    clock: () => now,
    dropped: [],
    context: contextWith(),
  } as unknown as RunnableRequest;
  const way = { ranked: { model: 0, outputCap: cap }, upstream } as never;
  const attempt = new Attempt(way, reporter as never, runnable, { deadlineAt, hasOthers: false } as never);
  const batches: { at: number; parts: readonly StreamPart[] }[] = [];
  const call: UpstreamCall = {
    dropped: [],
    sent,
    requestId: null,
    abort() {},
    read() {
      const [next] = batches;
      if (!next) return null;
      if (now < next.at) return until(next.at);
      batches.shift();
      return next.parts;
    },
  };
  const until = async (time: number) => {
    await null;
    now = time;
  };
  Object.assign(attempt, { call });
  const at = (time: number) => {
    now = time;
    return attempt;
  };
  /** Content that comes at these times. The reader requests the next content as soon as it has read the previous one. */
  const content = async (...times: number[]) => {
    batches.push(...times.map((time) => ({ at: time, parts: [said] })));
    await arrived(() => attempt.content());
    while (batches.length > 0) await nextBatch(attempt);
  };
  return { attempt, told, remembered, at, content, batches };
}

const failure = (kind: ProviderFailure['kind']): ProviderFailure => ({ kind, message: 'x' });

describe('an endpoint is blamed for a failed attempt', () => {
  test('a timeout before the request’s own deadline, after the first content, counts against the endpoint', async () => {
    for (const [time, blame] of [
      [399, true],
      [400, false],
    ] as const) {
      // With so little time left, silence would not count against the endpoint.
      const { told, at, content } = attempting({ deadlineAt: 400 });
      await content(10);
      at(time).failed(failure('timeout'));
      expect(told).toEqual([['timeout', blame]]);
    }
  });

  test('a timeout without any content counts against the endpoint if it had nearly all of its own time', () => {
    for (const [deadlineAt, blame] of [
      [900, true],
      [899, false],
    ] as const) {
      const { told, at } = attempting({ deadlineAt });
      at(deadlineAt).failed(failure('timeout'));
      expect(told).toEqual([['timeout', blame]]);
    }
  });

  test('a cut connection counts against the endpoint unless its reader was slow', async () => {
    const quick = attempting();
    await quick.content(10, 200, 400);
    quick.at(400).failed(failure('cut'));
    expect(quick.told).toEqual([['cut', true]]);
    const slow = attempting();
    await slow.content(10);
    // The slow reader comes back late, and finds everything that has arrived.
    slow.at(400);
    slow.batches.push({ at: 400, parts: [said] });
    await nextBatch(slow.attempt);
    slow.attempt.failed(failure('cut'));
    expect(slow.told).toEqual([['cut', false]]);
  });

  test('an endpoint that was silent for half of its time is blamed although the caller left, if the request was sent', () => {
    for (const [sent, time, expected] of [
      [true, 500, ['timeout', true]],
      [true, 499, ['dropped']],
      [false, 500, ['dropped']],
    ] as const) {
      const { told, at } = attempting({ sent });
      at(time).left(true);
      expect(told).toEqual([[...expected]]);
    }
  });

  test('an endpoint is not blamed for its silence if the gateway gave up the attempt', () => {
    const { told, at } = attempting();
    at(500).left(false);
    expect(told).toEqual([['dropped']]);
  });
});

test('an answer without streaming gets at most half of the total time, however long its output may be', () => {
  for (const [time, expected] of [
    [1_000, ['timeout', true]],
    [999, ['dropped']],
  ] as const) {
    // The time for the first token plus twice the time for 30 tokens at 50 a second would be 2,200 of 4,000 ms.
    const { told, at } = attempting({ stream: false });
    at(time).left(true);
    expect(told).toEqual([[...expected]]);
  }
});

test('hidden reasoning does not count in the measured speed of an endpoint', async () => {
  const { attempt, told, content, batches } = attempting({ cap: 1_024 });
  await content(10, 210);
  const usage = { ...plainUsage(5, 20), reasoningTokens: 12 };
  batches.push({ at: 210, parts: [{ type: 'usage', usage }] });
  await nextBatch(attempt);
  attempt.completed();
  expect(told).toEqual([
    ['completed', 8, 200, null, false],
    ['saw', 'general', 8],
  ]);
});

test('the time of an unstreamed answer ends with its last content, however long its reader then takes', async () => {
  const { told, at, content } = attempting({ stream: false });
  await content(100);
  at(5_000).completed();
  expect(told[0]).toEqual(['completed', 1, 0, 100, false]);
  // The reader, and not the provider, decides how fast the parts of this answer come.
  const slow = attempting({ stream: false });
  await slow.content(100);
  slow.batches.push({ at: 100, parts: [said] });
  slow.at(5_000).read();
  slow.attempt.completed();
  expect(slow.told[0]).toEqual(['completed', 0, 4_900, Number.NaN, false]);
});

test('with several choices, each choice may reach the output limit, and each is written at the endpoint’s speed', async () => {
  for (const choices of [1, 3]) {
    const { attempt, at, content } = attempting({ choices });
    expect(attempt.expected.outputMax).toBe(30 * choices);
    await content(100);
    // Each choice has 50 tokens a second.
    expect(at(300).broken(null).usage.outputTokens).toBe(10 * choices);
    expect(at(3_000).broken(null).usage.outputTokens).toBe(30 * choices);
  }
});

describe('an answer of a provider that bills the whole answer after an abort', () => {
  const timeout: ProviderFailure = { kind: 'timeout', message: 'too late' };
  const cut: ProviderFailure = { kind: 'cut', message: 'gone' };

  test('an aborted answer of a provider that bills it in full is charged up to its limit; if the provider broke off, it is estimated', async () => {
    const { at, content } = attempting({ bills: 'whole', choices: 2 });
    await content(100);
    for (const failure of [null, timeout]) {
      expect(at(200).broken(failure)).toMatchObject({ usage: { outputTokens: 60 }, estimated: true });
    }
    expect(at(200).broken(cut).usage.outputTokens).toBe(10);
  });

  test('a provider that bills aborted answers in full is charged as reported if the answer was complete', async () => {
    const { attempt, at, content, batches } = attempting({ bills: 'whole' });
    await content(100);
    const finish: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
    batches.push({ at: 150, parts: [finish, { type: 'usage', usage: plainUsage(5, 7) }] });
    await nextBatch(attempt);
    expect(at(200).broken(null)).toMatchObject({ usage: plainUsage(5, 7), estimated: false });
  });
});

describe('a complete answer', () => {
  /** Returns what is learned from an answer that ends like this. */
  async function ended(
    of: Partial<Facts>,
    usage: Usage | null,
    reason: FinishReason = 'stop',
    { said = [], ...more }: Options & { readonly said?: readonly StreamPart[] } = {},
  ) {
    const { attempt, told, remembered, content, batches } = attempting({ of, cap: 1_024, ...more });
    await content(10);
    const parts: StreamPart[] = [...said, { type: 'finish', choice: 0, reason, raw: reason }];
    batches.push({ at: 20, parts: usage ? [...parts, { type: 'usage', usage }] : parts });
    await nextBatch(attempt);
    attempt.completed();
    const [completed, saw] = told as [unknown[], unknown[] | undefined];
    return { isWarm: completed.at(-1), saw: saw?.slice(1) ?? null, remembered };
  }

  test('a complete answer teaches how long answers of its task are: the visible tokens of one choice', async () => {
    const usage = { ...plainUsage(5, 90), reasoningTokens: 30 };
    expect((await ended({}, usage)).saw).toEqual(['general', 60]);
    expect((await ended({}, usage, 'tool_calls', { choices: 3 })).saw).toEqual(['general', 20]);
    expect((await ended({}, usage, 'stop', { cap: 400 })).saw).toEqual(['general', 60]);
    // A cut answer would have been at least as long as usual.
    expect((await ended({}, plainUsage(5, 400), 'length', { cap: 400 })).saw).toEqual(['general', 400]);
    expect((await ended({}, plainUsage(5, 90), 'length', { cap: 400 })).saw).toEqual(['general', 400]);
    expect((await ended({ mix: [{ task: 'general', share: 0.6 }] }, usage)).saw).toEqual(['general', 60]);
  });

  test('a cut answer counts as at least the usual length, any other with its own length', async () => {
    const seen = async (tokens: number, reason: FinishReason, more: Options) =>
      (await ended({}, plainUsage(5, tokens), reason, more)).saw?.[1] ?? null;
    const long = { usual: 3_000 };
    expect(await seen(60, 'stop', { cap: 2_000, ...long })).toBe(60);
    expect(await seen(1_990, 'stop', { cap: 2_000, ...long })).toBe(1_990);
    expect(await seen(2_000, 'length', { cap: 2_000, ...long })).toBe(3_000);
    expect(await seen(4_000, 'length', { cap: 4_000, ...long })).toBe(4_000);
    expect(await seen(2_000, 'length', { cap: 2_000, reasoningTokens: 500, ...long })).toBeNull();
    // A limit of 399 tokens is also below the declared 400 tokens.
    expect(await seen(60, 'stop', { cap: 399, ...long })).toBeNull();
    expect(await seen(60, 'stop', { cap: 100, usual: 100 })).toBe(60);
    expect(await seen(60, 'stop', { cap: 99, usual: 100 })).toBeNull();
  });

  test('an answer teaches no length if its length was fixed, cut or unknown, or its task is uncertain', async () => {
    const usage = plainUsage(5, 90);
    for (const of of [{ outputTokens: 90 }, { outputTokensAsked: 100 }]) {
      expect((await ended(of, usage)).saw).toBeNull();
    }
    expect((await ended({}, usage, 'stop', { cap: 399 })).saw).toBeNull();
    expect((await ended({ mix: [{ task: 'general', share: 0.5 }] }, usage)).saw).toBeNull();
    expect((await ended({}, usage, 'content_filter')).saw).toBeNull();
    const refused: StreamPart = { type: 'refusal', choice: 0, text: 'No.' };
    expect((await ended({}, usage, 'stop', { said: [refused] })).saw).toBeNull();
    const thinking = { ...plainUsage(5, 500), reasoningTokens: 490 };
    expect((await ended({}, thinking, 'length', { reasoningTokens: 500 })).saw).toBeNull();
    expect((await ended({}, null)).saw).toBeNull();
    expect((await ended({}, usage, 'stop', { reasoningTokens: 500 })).saw).toBeNull();
    expect((await ended({}, { ...usage, reasoningTokens: 40 }, 'stop', { reasoningTokens: 500 })).saw).not.toBeNull();
    expect((await ended({}, { ...usage, reasoningTokens: 91 })).saw).toBeNull();
  });

  test('an answer counts as warm if a plausible usage says that half of its prompt was in the provider’s cache', async () => {
    const usage = { ...plainUsage(100, 9), units: { cached_input: 50 } };
    expect((await ended({}, usage)).isWarm).toBe(true);
    expect((await ended({}, { ...usage, units: { cached_input: 49 } })).isWarm).toBe(false);
    expect((await ended({}, { ...usage, units: { cached_input: 101 } })).isWarm).toBe(false);
    expect((await ended({}, null)).isWarm).toBe(false);
  });

  const read = (inputTokens: number, expectedTokens: number) => [
    { inputTokens, expectedTokens, at: 0, mark: expect.any(Number) },
  ];

  test('an answer is remembered with its prompt, its charged tokens and the time when the prompt was sent', async () => {
    expect((await ended({ inputTokens: 70 }, plainUsage(100, 9))).remembered).toEqual(read(100, 70));
    expect((await ended({ inputTokens: 70 }, null)).remembered).toEqual(read(70, 70));
    expect((await ended({ inputTokens: 70 }, plainUsage(-1, 9))).remembered).toEqual(read(70, 70));
  });

  test('an answer is remembered with the tokens written to the cache if the provider bills cache writes separately', async () => {
    const cost = price(1, 4, { rates: { cache_write: 1_250 } });
    const usage = { ...plainUsage(100, 9), units: { cached_input: 30, cache_write: 40 } };
    expect((await ended({ inputTokens: 50 }, usage, 'stop', { cost })).remembered).toEqual(read(70, 35));
    expect((await ended({ inputTokens: 50 }, plainUsage(100, 9), 'stop', { cost })).remembered).toEqual(read(0, 0));
    expect((await ended({ inputTokens: 50 }, null, 'stop', { cost })).remembered).toEqual(read(50, 50));
  });
});
