import { afterEach, expect, test } from 'bun:test';
import type { StreamPart } from '../../src/contract/parts.ts';
import { CHUNKS } from '../../src/dialects/openai-chat/chunks.ts';
import { streamResponse } from '../../src/http/kit/stream.ts';
import { boundUnsentBytes } from '../../src/server/listening-sockets.ts';
import { type DeafCaller, startDeafCaller } from '../support/deaf-caller.ts';
import { ScriptedAnswer } from '../support/scripted-answer.ts';

/** An endless answer in batches of one part, with a given pause between them. */
class EndlessAnswer extends ScriptedAnswer {
  /** How many characters of the answer were read. */
  chars = 0;
  readonly #part: StreamPart & { readonly type: 'text' };
  readonly #paceMs: number | null;
  #isDue = true;

  constructor(chars: number, paceMs: number | null) {
    super({ batches: [] });
    this.#part = { type: 'text', choice: 0, text: 'x'.repeat(chars) };
    this.#paceMs = paceMs;
  }

  override read(): readonly StreamPart[] | null | Promise<void> {
    if (this.abandoned) return null;
    if (!this.#isDue && this.#paceMs !== null) {
      this.#isDue = true;
      return this.#paceMs === 0 ? new Promise((resolve) => setImmediate(resolve)) : Bun.sleep(this.#paceMs);
    }
    this.#isDue = false;
    this.chars += this.#part.text.length;
    return [this.#part];
  }
}

/** If this many characters were read, nothing has stopped the answer. */
const MANY = 1_000_000;
const callers: DeafCaller[] = [];
afterEach(() => {
  for (const caller of callers.splice(0)) caller.hangUp();
});

/** How many bytes of text are taken from the answer in a second if the caller reads nothing. */
async function taken(answer: EndlessAnswer): Promise<number> {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: () => streamResponse(answer, CHUNKS, { commitAfterMs: 1_000, failedStreams: 'end' }),
  });
  boundUnsentBytes(server.port!);
  callers.push(startDeafCaller(server.port!, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
  for (let before = -1; answer.chars !== before && answer.chars < MANY; await Bun.sleep(300)) before = answer.chars;
  answer.abandon('caller-gone');
  await server.stop(true);
  return answer.chars;
}

/** The characters of a part, and the pause between parts in ms; null if all parts arrive at once. */
const ANSWERS: readonly (readonly [number, number | null])[] = [
  [4, 0],
  [50, 0],
  [1_000, 0],
  [4, null],
  [1_000, null],
  [20_000, null],
];

test.each(ANSWERS)(
  'an answer in parts of %d characters stops while its caller reads nothing (pause in ms: %p)',
  async (chars, paceMs) => {
    expect(await taken(new EndlessAnswer(chars, paceMs))).toBeWithin(1, 65_536);
  },
);
