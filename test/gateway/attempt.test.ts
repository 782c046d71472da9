import { describe, expect, test } from 'bun:test';
import type { ProviderFailure, StreamPart } from '../../src/contract/parts.ts';
import { plainUsage } from '../../src/core/usage.ts';
import { Attempt, type AttemptContext } from '../../src/gateway/attempt.ts';
import type { UpstreamCall } from '../../src/upstream/call.ts';
import { facts, model, snapshot } from '../routing/build.ts';
import { targetOf } from '../support/provider-call.ts';

const said: StreamPart = { type: 'text', choice: 0, text: 'x' };
const DEADLINES = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000, totalMs: 4_000 };

/** An attempt on a clock of its own, whose call gives these batches, each at its time; and what its endpoint is told. */
function attempting(more: { sent?: boolean; deadlineAt?: number; choices?: number; stream?: boolean } = {}) {
  const { sent = true, deadlineAt = 4_000, choices = 1, stream = true } = more;
  const from = snapshot([model('a', { deadlines: DEADLINES })]);
  const told: unknown[] = [];
  const trial = {
    answered: () => {},
    completed: (...figures: unknown[]) => told.push(['completed', ...figures]),
    failed: ({ kind }: ProviderFailure, blame: boolean) => told.push([kind, blame]),
    dropped: () => told.push(['dropped']),
  };
  let now = 0;
  const context = {
    runtime: {
      snapshot: { ...from, providers: new Map([['p', { passthrough: new Set() }]]) },
      health: [[{}]],
      targets: [[targetOf(null)]],
    },
    request: { model: 'a', messages: [], stream },
    facts: facts({ choices }),
    readings: { ttftMs: [100], tokensPerSecond: [50] },
    clock: () => now,
  } as unknown as AttemptContext;
  const way = { ranked: { model: 0, outputCap: 30 }, at: 0 } as never;
  const attempt = new Attempt(way, trial as never, context, { deadlineAt, hasOthers: false } as never);
  const batches: { at: number; parts: readonly StreamPart[] }[] = [];
  const call: UpstreamCall = {
    dropped: [],
    sent,
    abort() {},
    async read() {
      const next = batches.shift();
      if (!next) return null;
      now = next.at;
      return next.parts;
    },
  };
  Object.assign(attempt, { call });
  const at = (time: number) => {
    now = time;
    return attempt;
  };
  /** Content that comes at these times, asked for as soon as it was read. */
  const content = async (...times: number[]) => {
    batches.push(...times.map((time) => ({ at: time, parts: [said] })));
    await attempt.awaitContent();
    while (batches.length > 0) await attempt.read();
  };
  return { attempt, told, at, content, batches };
}

const failure = (kind: ProviderFailure['kind']): ProviderFailure => ({ kind, message: 'x' });

describe('a failure is the endpoint’s fault', () => {
  test('that timed out before the request’s own deadline, once content had come', async () => {
    for (const [time, blame] of [
      [399, true],
      [400, false],
    ] as const) {
      // So little time was left that silence would be nobody's fault.
      const { told, at, content } = attempting({ deadlineAt: 400 });
      await content(10);
      at(time).failed(failure('timeout'));
      expect(told).toEqual([['timeout', blame]]);
    }
  });

  test('that timed out in silence, where nearly all of its time was left', () => {
    for (const [deadlineAt, blame] of [
      [900, true],
      [899, false],
    ] as const) {
      const { told, at } = attempting({ deadlineAt });
      at(deadlineAt).failed(failure('timeout'));
      expect(told).toEqual([['timeout', blame]]);
    }
  });

  test('that was cut, unless its reader was slow', async () => {
    const quick = attempting();
    await quick.content(10, 200, 400);
    quick.at(400).failed(failure('cut'));
    expect(quick.told).toEqual([['cut', true]]);
    const slow = attempting();
    await slow.content(10);
    // The reader comes back late, and what is there is there at once.
    slow.at(400);
    slow.batches.push({ at: 400, parts: [said] });
    await slow.attempt.read();
    slow.attempt.failed(failure('cut'));
    expect(slow.told).toEqual([['cut', false]]);
  });

  test('that was silent for half of its time when the caller left, if anything was sent', () => {
    for (const [sent, time, expected] of [
      [true, 500, ['timeout', true]],
      [true, 499, ['dropped']],
      [false, 500, ['dropped']],
    ] as const) {
      const { told, at } = attempting({ sent });
      at(time).left();
      expect(told).toEqual([[...expected]]);
    }
  });
});

test('an answer in one piece has half of the whole time at most, however long its output may be', () => {
  for (const [time, expected] of [
    [1_000, ['timeout', true]],
    [999, ['dropped']],
  ] as const) {
    // The first token and twice 30 tokens at 50 a second would be 2,200 of 4,000 ms.
    const { told, at } = attempting({ stream: false });
    at(time).left();
    expect(told).toEqual([[...expected]]);
  }
});

test('hidden reasoning is no part of an endpoint’s pace', async () => {
  const { attempt, told, content, batches } = attempting();
  await content(10, 210);
  const usage = { ...plainUsage(5, 20), reasoningTokens: 12 };
  batches.push({ at: 210, parts: [{ type: 'usage', usage }] });
  await attempt.read();
  attempt.completed();
  expect(told).toEqual([['completed', 8, 200, null]]);
});

test('of several choices each may have the cap, and each is made at the endpoint’s pace', async () => {
  for (const choices of [1, 3]) {
    const { attempt, at, content } = attempting({ choices });
    expect(attempt.expected.outputMax).toBe(30 * choices);
    await content(100);
    // 50 tokens a second of each choice.
    expect(at(300).broken().usage.outputTokens).toBe(10 * choices);
    expect(at(3_000).broken().usage.outputTokens).toBe(30 * choices);
  }
});
