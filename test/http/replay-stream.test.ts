import { describe, expect, test } from 'bun:test';
import { ANSWER_BYTES_MAX, FRAME_MARK } from '../../src/access/idempotency/answer.ts';
import { KeptStream, type Recorded } from '../../src/http/kept-stream.ts';
import { CHUNKS } from '../../src/surface/openai-chat/chunks.ts';
import { waitFor } from '../support/answers.ts';

const HEAD = 'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"best","choices":[';
const chunk = (text: string) => `${HEAD}{"index":0,"delta":{"content":${JSON.stringify(text)}}}]}\n\n`;
const HEARTBEAT = CHUNKS.heartbeat;
const DONE = 'data: [DONE]\n\n';

/** Tells the texts one after the other, and how many were asked for. */
class Script {
  asked = 0;
  ended = false;
  readonly #texts: readonly (string | Error)[];

  constructor(texts: readonly (string | Error)[]) {
    this.#texts = texts;
  }

  async next(): Promise<string | null> {
    const text = this.#texts[this.asked++];
    this.ended = this.asked === this.#texts.length;
    if (text instanceof Error) throw text;
    return text ?? null;
  }
}

function play(texts: readonly (string | Error)[]) {
  const script = new Script(texts);
  const told: { recorded?: Recorded; defects: number } = { defects: 0 };
  const stream = new KeptStream(script, HEARTBEAT, {
    async end(recorded) {
      told.recorded = recorded;
    },
    async defect() {
      told.defects++;
    },
  });
  return { script, told, stream };
}

async function allOf(stream: KeptStream): Promise<string> {
  let all = '';
  for (let text = await stream.next(); text !== null; text = await stream.next()) all += text;
  return all;
}

describe('a stream that is kept', () => {
  test('is told as it comes, and recorded with what its chunks repeat as one character, without heartbeats', async () => {
    const texts = [HEARTBEAT, chunk('One'), `${chunk(' two')}${chunk(FRAME_MARK)}`, `${chunk('')}${DONE}`];
    const { told, stream } = play(texts);
    expect(await allOf(stream)).toBe(texts.join(''));
    const { frame, body } = told.recorded!;
    expect(frame).toBe(HEAD);
    expect(body.split(FRAME_MARK)).toHaveLength(5);
    expect(body.replaceAll(FRAME_MARK, () => frame)).toBe(texts.slice(1).join(''));
  });

  test('that is an error alone is recorded as it is', async () => {
    const text = 'data: {"error":{"message":"\\"choices\\":["}}\n\n';
    const { told, stream } = play([HEARTBEAT, text]);
    expect(await allOf(stream)).toBe(HEARTBEAT + text);
    expect(told.recorded).toEqual({ frame: '', body: text });
  });

  test('is read to its end though nobody reads it', async () => {
    const { told } = play([chunk('One'), chunk(' two'), DONE]);
    await waitFor(() => told.recorded);
    expect(told.recorded!.body).toEndWith(DONE);
  });

  test('is read to its end though its reader leaves', async () => {
    const { told, stream } = play([chunk('One'), chunk(' two'), DONE]);
    await stream.next();
    stream.leave();
    await waitFor(() => told.recorded);
    expect(told.recorded!.body).toEndWith(DONE);
  });

  test('gives its last text only once it is kept', async () => {
    const kept = Promise.withResolvers<void>();
    const stream = new KeptStream(new Script([chunk('One'), DONE]), HEARTBEAT, {
      end: () => kept.promise,
      defect: async () => {},
    });
    expect(await stream.next()).toBe(chunk('One'));
    const last = stream.next();
    expect(await Promise.race([last, Bun.sleep(20)])).toBeUndefined();
    kept.resolve();
    expect(await last).toBe(DONE);
  });

  test('whose program fails tells its reader, and that there is nothing to keep', async () => {
    const { told, stream } = play([chunk('One'), new Error('a defect'), DONE]);
    expect(await stream.next()).toBe(chunk('One'));
    expect(stream.next()).rejects.toThrow('a defect');
    await waitFor(() => told.defects === 1);
    expect(told.recorded).toBeUndefined();
  });
});

describe('a stream that is too large to be kept', () => {
  const large = Array.from({ length: 20 }, () => chunk('x'.repeat(ANSWER_BYTES_MAX / 8)));

  test('is not read ahead of its reader any more, and told whole', async () => {
    const { script, told, stream } = play([...large, DONE]);
    await Bun.sleep(20);
    // A quarter of the limit may wait for a reader.
    expect(script.asked).toBeLessThanOrEqual(3);
    expect(await allOf(stream)).toBe([...large, DONE].join(''));
    expect(told.recorded).toBeNull();
  });

  test('goes on once its reader has left', async () => {
    const { told, stream } = play([...large, DONE]);
    await stream.next();
    stream.leave();
    await waitFor(() => told.recorded === null);
    expect(told.defects).toBe(0);
  });
});

test('the limit is that of bytes, not of letters', async () => {
  const { told, stream } = play([chunk('ä'.repeat(ANSWER_BYTES_MAX / 2)), DONE]);
  await allOf(stream);
  expect(told.recorded).toBeNull();
});
