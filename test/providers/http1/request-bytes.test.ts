import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { sendBytes, sendRequest } from '../../../src/providers/http1/request-bytes.ts';
import { tries } from '../../deep/effort.ts';

const SHARED = 524_288;
const START = 'POST /v1 HTTP/1.1\r\n';

const headOf = (body: string): string => `${START}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
/** The length of the head of a request whose body is about as large as the shared buffer. */
const HEAD_LENGTH = headOf('x'.repeat(SHARED - 100)).length;

/** A peer that accepts these numbers of bytes per write, in turn; a negative number means a write after its end. */
class SlowSink {
  readonly #takes: readonly number[];
  #writes = 0;
  received = Buffer.alloc(0);

  constructor(takes: readonly number[]) {
    this.#takes = takes;
  }

  write(bytes: Uint8Array, offset = 0, length = bytes.length): number {
    const taken = Math.min(this.#takes[this.#writes++ % this.#takes.length]!, length);
    this.received = Buffer.concat([this.received, bytes.subarray(offset, offset + Math.max(0, taken))]);
    return taken;
  }
}

const body = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.string({ unit: fc.constantFrom('a', 'ü', '€', '😀', '\ud800', '\udc00'), maxLength: 50 }),
  fc
    .tuple(fc.constantFrom('a', 'ü'), fc.integer({ min: -3, max: 3 }))
    .map(([letter, more]) => letter.repeat((SHARED - HEAD_LENGTH) / Buffer.byteLength(letter) + more)),
);
/** The list ends with a large number, so that a large body takes few writes. */
const takes = fc
  .tuple(fc.array(fc.integer({ min: -1, max: 40 }), { maxLength: 3 }), fc.constantFrom(100_000, 10_000_000))
  .map(([few, many]) => [...few, many]);

/** Splits a body into strings and bytes. */
const piecesOf = (text: string): (string | Uint8Array)[] => {
  const middle = Math.floor(text.length / 3);
  // A pair of surrogates stays together.
  const cut = (text.charCodeAt(middle) & 0xfc00) === 0xdc00 ? middle + 1 : middle;
  return [text.slice(0, cut), Buffer.from(text.slice(cut)), ''];
};

/** Sends requests in parallel to peers that accept them in pieces. Throws unless each arrives unchanged. */
function check(send: typeof sendRequest): void {
  fc.assert(
    fc.property(fc.array(fc.record({ body, takes, inPieces: fc.boolean() }), { minLength: 1, maxLength: 4 }), (all) => {
      const senders = all.map((one) => ({ ...one, sink: new SlowSink(one.takes) }));
      let unsent = senders.map((one) => ({
        ...one,
        rest: send(START, one.inPieces ? piecesOf(one.body) : one.body, one.sink),
      }));
      while (unsent.length > 0) {
        unsent = unsent.flatMap((one) => (one.rest ? [{ ...one, rest: sendBytes(one.rest, one.sink) }] : []));
      }
      for (const { sink, body: sent } of senders)
        expect(sink.received.equals(Buffer.from(headOf(sent) + sent))).toBe(true);
    }),
    tries('requests sent at once arrive as they are', 100, 5_000),
  );
}

test('requests that are sent in parallel arrive unchanged, in whatever pieces each is accepted', () =>
  check(sendRequest));

test('the test detects a sender that keeps the rest of a request in the shared buffer', () => {
  const shared = Buffer.alloc(2 * SHARED);
  const careless: typeof sendRequest = (_, body, sink) => {
    const sent = typeof body === 'string' ? body : Buffer.concat(body.map((piece) => Buffer.from(piece))).toString();
    return sendBytes(shared.subarray(0, shared.write(headOf(sent) + sent)), sink);
  };
  expect(() => check(careless)).toThrow();
});
