import { describe, expect, jest, test } from 'bun:test';
import fc from 'fast-check';
import {
  ANSWER_BYTES_MAX,
  bodyOf,
  decodeAnswer,
  encodeAnswer,
  type StoredAnswer,
} from '../../../src/access/idempotency/answer.ts';
import type { IdempotentRun } from '../../../src/access/idempotency/run.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { AnswerSource } from '../../../src/gateway/exchange/answer-source.ts';
import { KeptAnswer, type KeptAnswerOptions, type WholeForm } from '../../../src/gateway/exchange/kept-answer.ts';
import { replayedAnswer } from '../../../src/gateway/exchange/replayed-answer.ts';
import type { NextParts } from '../../../src/providers/upstream-call.ts';
import { tries } from '../../deep/effort.ts';
import { quietFor, waitFor } from '../../support/answers.ts';
import { nextBatch } from '../../support/provider-call.ts';
import { type Script, ScriptedAnswer } from '../../support/scripted-answer.ts';

type Batches = NonNullable<Script['batches']>;

const textPart = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
const BATCHES: Batches = [[textPart('One')], [textPart(' two\n')], [FINISH]];
const broken = () => new SignalboxError('upstream_failed', 'It broke off.', { retryAfterMs: 9, cause: 'secret' });

/** Records how a run ended. */
class RunLog implements IdempotentRun {
  givenBack = 0;
  ends: (StoredAnswer | 'lost' | 'too large' | 'dropped')[] = [];
  /** Resolves when an answer counts as stored. */
  stored: Promise<void> = Promise.resolve();
  isKeeping = false;

  claim = () => ({});
  async begin(): Promise<void> {}
  async keep(answer: StoredAnswer): Promise<void> {
    this.isKeeping = true;
    await this.stored;
    this.ends.push(answer);
  }
  async lose(): Promise<void> {
    this.ends.push('lost');
  }
  async tooLarge(): Promise<void> {
    this.ends.push('too large');
  }
  async drop(): Promise<void> {
    this.ends.push('dropped');
  }
}

class ScriptedExchange extends ScriptedAnswer {
  isDeserted = false;
  /** How many batches were requested. */
  asked = 0;
  readonly funded: KeptAnswerOptions['source']['funded'] = {
    headers: { 'x-payment-id': 'pay_1' },
    errorOf: ({ code, message, info }) =>
      new SignalboxError(code, message, { ...info, details: { payment_id: 'pay_1' } }),
  };

  override read(): NextParts {
    this.asked++;
    return super.read();
  }
}

function play(script: Script, isStream = true) {
  const source = new ScriptedExchange(script);
  const run = new RunLog();
  const defects: unknown[] = [];
  const answer = new KeptAnswer({ source, run, isStream, onDefect: (error) => void defects.push(error) });
  return { source, run, answer, defects };
}

async function batchesOf(answer: AnswerSource): Promise<(readonly StreamPart[])[]> {
  const all: (readonly StreamPart[])[] = [];
  for (let batch = await nextBatch(answer); batch !== null; batch = await nextBatch(answer)) all.push(batch);
  return all;
}

/** Reads the stored answer again, as if from the disk. */
function replayOf({ ends }: RunLog): AnswerSource {
  const [end] = ends;
  const stored = typeof end === 'object' ? decodeAnswer(Buffer.from(encodeAnswer(end))) : null;
  const replay = stored && 'parts' in stored ? replayedAnswer(1, stored.parts) : null;
  if (!replay) throw new Error('nothing is stored');
  return replay;
}

describe('an answer that is stored for repeats', () => {
  test('a stored answer is read as it arrives, and its replay has the same batches, names, receipt and headers', async () => {
    const { run, answer } = play({ batches: BATCHES });
    await answer.open();
    expect(await batchesOf(answer)).toEqual([...BATCHES]);
    expect(run.ends).toMatchObject([{ headers: { 'x-payment-id': 'pay_1' } }]);
    const replay = replayOf(run);
    await replay.open();
    expect(await batchesOf(replay)).toEqual([...BATCHES]);
    const { decision, created, model, receipt, error } = answer;
    expect(replay).toMatchObject({ decision, created, model, receipt: JSON.parse(JSON.stringify(receipt)), error });
  });

  test('an answer in one body is stored as this body, or as its parts if only the body is too large to store', async () => {
    for (const [extra, isWhole] of [
      [0, true],
      [ANSWER_BYTES_MAX, false],
    ] as const) {
      const run = new RunLog();
      const whole: WholeForm = {
        writer: () => {
          let text = '';
          const write = (parts: readonly StreamPart[]) => {
            for (const part of parts) if (part.type === 'text') text += part.text;
            return '';
          };
          return { write, end: () => text + '.'.repeat(extra) };
        },
        headers: ({ model }) => ({ model }),
      };
      const source = new ScriptedExchange({ batches: BATCHES });
      const answer = new KeptAnswer({ source, run, isStream: false, whole, onDefect: () => {} });
      await answer.open();
      expect(await nextBatch(answer)).toBeNull();
      const body = `One two\n${'.'.repeat(extra)}`;
      expect(answer.body).toBe(body);
      const headers = { 'x-payment-id': 'pay_1', model: answer.model };
      if (isWhole) expect(run.ends).toEqual([{ status: 200, headers, body }]);
      else expect(await batchesOf(replayOf(run))).toEqual([...BATCHES]);
    }
  });

  test('a stored answer is read to its end without a reader, and after its reader has left', async () => {
    for (const isLeft of [false, true]) {
      const { run, answer } = play({ batches: BATCHES });
      await answer.open();
      if (isLeft) answer.abandon('caller-gone');
      await waitFor(() => run.ends.length === 1);
      expect(await batchesOf(replayOf(run))).toEqual([...BATCHES]);
    }
  });

  test('the reader gets the end of a stored answer only once the answer is stored', async () => {
    const stored = Promise.withResolvers<void>();
    const { run, answer } = play({ batches: BATCHES });
    run.stored = stored.promise;
    let isToldEnd = false;
    await answer.open();
    for (const batch of BATCHES) expect(await nextBatch(answer)).toEqual(batch);
    const end = nextBatch(answer).finally(() => (isToldEnd = true));
    await waitFor(() => run.isKeeping);
    // Without waiting for the store, the end would come in the same turn of the event loop in which the answer is stored.
    await quietFor(5, 'an end that is not stored', () => isToldEnd);
    stored.resolve();
    expect(await end).toBeNull();
  });

  test('if the program fails while it reads a stored answer, the reader gets an error and nothing is stored', async () => {
    const { source, run, answer, defects } = play({ batches: BATCHES });
    source.read = () => {
      throw new Error('a defect');
    };
    await answer.open();
    expect(nextBatch(answer)).rejects.toThrow('a defect');
    await waitFor(() => run.ends.length === 1);
    expect([run.ends, defects.length, source.abandoned]).toEqual([['lost'], 1, 'caller-gone']);
  });
});

describe('a charged answer that fails', () => {
  test('a charged answer that fails before its first content is stored as an error that says not to repeat the request', async () => {
    const { run, answer } = play({ error: broken() });
    const error: unknown = await answer.open().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ info: { retry: false, details: { payment_id: 'pay_1' } } });
    const replayed: unknown = await replayOf(run)
      .open()
      .catch((thrown: unknown) => thrown);
    expect(replayed).toMatchObject({ code: 'upstream_failed', message: 'It broke off.', info: { retry: false } });
    expect(JSON.stringify(run.ends)).not.toContain('secret');
  });

  test('after a failure in the middle, the replay of a stream has its parts and the error; the replay of JSON has only the error', async () => {
    for (const isStream of [true, false]) {
      const { run, answer } = play({ batches: BATCHES.slice(0, 1), error: broken() }, isStream);
      await answer.open();
      await batchesOf(answer);
      expect(answer.error).toMatchObject({ code: 'upstream_failed' });
      const replay = replayOf(run);
      const opened = await replay.open().then(
        () => true,
        () => false,
      );
      expect([opened, (await batchesOf(replay)).length]).toEqual(isStream ? [true, 1] : [false, 0]);
      expect(replay.error).toMatchObject({ code: 'upstream_failed' });
    }
  });

  test('an answer that a shutdown cut off is marked as lost; an answer whose caller left before its end is dropped', async () => {
    const cut = play({ error: new SignalboxError('overloaded', 'It must stop.') });
    await cut.answer.open().catch(() => {});
    expect(cut.run.ends).toEqual(['lost']);
    const left = play({ error: broken() });
    left.source.isDeserted = true;
    await left.answer.open().catch(() => {});
    expect(left.run.ends).toEqual(['dropped']);
  });
});

describe('an answer that is too large to be stored', () => {
  const large: Batches = Array.from({ length: 20 }, () => [textPart('x'.repeat(ANSWER_BYTES_MAX / 8))]);

  test('an answer that is too large to be stored is no longer read ahead of its reader, and is delivered completely', async () => {
    const { source, run, answer } = play({ batches: large });
    await answer.open();
    // A quarter of the limit may wait for a reader, in addition to the next batch: that is three of these batches.
    await waitFor(() => source.asked === 3);
    await quietFor(5, 'a fourth batch, which would be read in the same turn', () => source.asked > 3);
    expect(await batchesOf(answer)).toEqual([...large]);
    expect(run.ends).toEqual(['too large']);
  });

  test('an answer continues without a reader who reads nothing for ten seconds, and that reader gets an error at the end', async () => {
    jest.useFakeTimers();
    try {
      const { run, answer } = play({ batches: large });
      await answer.open();
      const first = await nextBatch(answer);
      // From here on, the answer waits for its reader.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      jest.advanceTimersByTime(10_000);
      const rest = await batchesOf(answer);
      expect([first, rest.length < large.length - 1, run.ends]).toEqual([large[0]!, true, ['too large']]);
      expect(answer.error).toMatchObject({ code: 'upstream_timeout' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('a large answer continues once its reader has left', async () => {
    const { run, answer } = play({ batches: large });
    await answer.open();
    await nextBatch(answer);
    answer.abandon('caller-gone');
    await waitFor(() => run.ends.length === 1);
    expect(run.ends).toEqual(['too large']);
  });

  test('the limit on a stored answer counts bytes, not characters', async () => {
    const { run, answer } = play({ batches: [[textPart('ä'.repeat(ANSWER_BYTES_MAX / 2))]] });
    await answer.open();
    await batchesOf(answer);
    expect(run.ends).toEqual(['too large']);
  });
});

test('the parts of a stored answer are the same after they were stored, in any batches', async () => {
  const part: fc.Arbitrary<StreamPart> = fc.oneof(
    fc.record({
      type: fc.constant('text' as const),
      choice: fc.nat(1),
      text: fc.string({ unit: 'binary', maxLength: 6 }),
    }),
    fc.record({ type: fc.constant('reasoning' as const), choice: fc.nat(1), text: fc.string() }),
    fc.record({
      type: fc.constant('tool-call' as const),
      choice: fc.nat(1),
      index: fc.nat(2),
      arguments: fc.json(),
      id: fc.string(),
    }),
    fc.record({
      type: fc.constant('logprobs' as const),
      choice: fc.nat(1),
      content: fc.array(fc.nat()),
      refusal: fc.constant([]),
    }),
  );
  const law = fc.asyncProperty(
    fc.array(fc.array(part, { minLength: 1, maxLength: 4 }), { minLength: 1 }),
    async (batches) => {
      const { run, answer } = play({ batches });
      await answer.open();
      await batchesOf(answer);
      expect(await batchesOf(replayOf(run))).toEqual(batches);
    },
  );
  await fc.assert(law, tries('any batches of parts are the same from the store', 60, 1_000));
});

test('a stored answer of another version, or in another format, is not replayed', () => {
  expect(decodeAnswer(Buffer.from('{"headers":{},"form":"parts 2"}\n["x"]\n{}'))).toBeNull();
  expect(replayedAnswer(1, '["x"]\n{"created":1}')).toBeNull();
  const written: StoredAnswer = { status: 200, headers: {}, body: 'text' };
  expect(bodyOf(decodeAnswer(Buffer.from(encodeAnswer(written)))!)).toBe('text');
});
