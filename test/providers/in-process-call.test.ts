import { describe, expect, spyOn, test } from 'bun:test';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { InProcessAdapter, Pause } from '../../src/contract/provider.ts';
import type { Deadlines } from '../../src/core/policy/snapshot.ts';
import { openCall } from '../../src/providers/call.ts';
import { ALARMS, DEADLINES, failureIn, nextBatch, partsOf, providerCall, textIn } from '../support/provider-call.ts';

const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
const USAGE: StreamPart = {
  type: 'usage',
  usage: { inputTokens: 1, outputTokens: 1, reasoningTokens: 0 },
};
const say = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const pause = (ms: number): Pause => ({ type: 'pause', ms });

function open(answer: InProcessAdapter['answer'], deadlines: Partial<Deadlines> = {}, totalMs = 10_000) {
  const target = { adapter: { kind: 'in-process', answer } as const, dial: null, apiKey: null };
  return openCall(target, providerCall(), {
    deadlines: { ...DEADLINES, ...deadlines },
    totalBy: performance.now() + totalMs,
    alarms: ALARMS,
  });
}

describe('an in-process answer', () => {
  test('keeps its own pace, with simultaneous parts in one batch', async () => {
    const started = performance.now();
    // The second pause is long, because a busy machine may be late for the first.
    const call = open(() => [pause(20), say('a'), say('b'), pause(500), say('c'), FINISH, USAGE]);
    expect(await nextBatch(call)).toEqual([say('a'), say('b')]);
    expect(await nextBatch(call)).toEqual([say('c'), FINISH, USAGE]);
    expect(await nextBatch(call)).toBeNull();
    expect(performance.now() - started).toBeGreaterThanOrEqual(518);
  });

  test('does not slow down for a late reader', async () => {
    const call = open(() => [say('a'), pause(10), say('b'), pause(10), say('c'), FINISH, USAGE]);
    const first = (await nextBatch(call)) ?? [];
    // The reader is late for both pauses.
    await Bun.sleep(40);
    const second = (await nextBatch(call)) ?? [];
    // On a busy machine the first batch may already contain the second part.
    expect(textIn([...first, ...second])).toBe('abc');
  });

  test.each<[string, (StreamPart | Pause)[], Partial<Deadlines>, number]>([
    ['first token', [pause(5_000), say('a'), FINISH], { firstTokenMs: 30 }, 10_000],
    ['idle', [say('a'), pause(5_000), FINISH], { idleMs: 30 }, 10_000],
    ['total', [say('a'), ...Array(500).fill(pause(10)), FINISH], {}, 30],
  ])('is bound by the %s deadline', async (_, parts, deadlines, totalMs) => {
    const started = performance.now();
    expect(failureIn(await partsOf(open(() => parts, deadlines, totalMs)))?.kind).toBe('timeout');
    expect(performance.now() - started).toBeLessThan(4_000);
  });

  test('has a second for its usage once every choice has finished, regardless of pauses and of a late reader', async () => {
    const answers = [
      [say('a'), FINISH, pause(900), USAGE],
      [say('a'), FINISH, pause(900), pause(900), USAGE],
    ].map((parts) => open(() => parts));
    for (const call of answers) expect(await nextBatch(call)).toEqual([say('a'), FINISH]);
    const { now } = performance;
    using _ = spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 1_500);
    expect(await Promise.all(answers.map(partsOf))).toEqual([[USAGE], []]);
  });

  test('ends at an abort, even during a pause, and its adapter is notified', async () => {
    let returned = false;
    const call = open(function* () {
      try {
        yield say('a');
        yield pause(5_000);
        yield say('b');
      } finally {
        returned = true;
      }
    });
    await nextBatch(call);
    const pending = nextBatch(call);
    call.abort();
    expect(await pending).toBeNull();
    expect(returned).toBe(true);
  });

  test('that has no finish, or throws, is a failure after the parts before it', async () => {
    const cut = await partsOf(open(() => [say('a')]));
    expect(cut[0]).toEqual(say('a'));
    expect(failureIn(cut)?.kind).toBe('cut');
    const thrown = await partsOf(
      open(function* () {
        yield say('a');
        throw new Error('secret');
      }),
    );
    expect(failureIn(thrown)).toEqual({ kind: 'server', message: 'the adapter failed' });
  });

  test('that never ends or pauses does not delay the deadline', async () => {
    const call = open(
      function* () {
        yield FINISH;
        for (;;) yield say('x');
      },
      {},
      50,
    );
    await partsOf(call);
    const endless = open(
      function* () {
        for (;;) yield say('x');
      },
      {},
      50,
    );
    expect(failureIn(await partsOf(endless))?.kind).toBe('timeout');
  });
});
