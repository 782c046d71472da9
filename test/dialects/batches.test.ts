import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { type AnswerRoute, type AnswerWriter, answerRoutesOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { RECEIPT } from '../support/caller-message.ts';
import { readOn } from '../support/read-request.ts';
import { ollamaChat } from './ollama/surface.ts';

/** Upstream sockets split an answer at random, so the text must not depend on the batches. */
const IDENTITY = { decision: 1, created: 1_790_000_000, model: 'm' };

const choice = fc.nat(1);
const text = fc.string({ minLength: 1, maxLength: 4 });
const part: fc.Arbitrary<StreamPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), choice, text }),
  fc.record({ type: fc.constant('reasoning' as const), choice, text }),
  fc.record({ type: fc.constant('refusal' as const), choice, text }),
  fc.record({
    type: fc.constant('tool-call' as const),
    choice,
    index: fc.nat(1),
    id: fc.constantFrom('a', 'b'),
    name: fc.constant('f'),
    arguments: fc.constantFrom('', '{}', '{"a":1}'),
  }),
  fc.record({ type: fc.constant('state' as const), choice, details: fc.constant([{ data: 'x' }]) }),
);
/** The parts of an upstream event, which arrive in the same batch, because token probabilities belong to their tokens. */
const event: fc.Arbitrary<readonly StreamPart[]> = fc.oneof(
  part.map((one) => [one]),
  fc.record({ choice, text }).map(({ choice: at, text: its }): readonly StreamPart[] => [
    { type: 'text', choice: at, text: its },
    { type: 'logprobs', choice: at, content: [1], refusal: [] },
  ]),
);
const finish = (at: number): StreamPart => ({ type: 'finish', choice: at, reason: 'stop', raw: 'stop' });
const answers = fc
  .array(event, { minLength: 1, maxLength: 20 })
  .map((events): (readonly StreamPart[])[] => [...events, [finish(0)], [finish(1)]]);
const splits = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 });

type Make = () => AnswerWriter;

function formsOf(route: AnswerRoute): readonly Make[] {
  const [request] = Object.values(route.docs.requests);
  const body = { ...request?.value, stream: true };
  const { events, json = route.json } = readOn(route, body);
  if (!events && route.docs.events) throw new Error('a stream was asked for');
  return [() => json(IDENTITY), ...(events ? [() => events.writer(IDENTITY)] : [])];
}

function textOf(make: Make, batches: readonly (readonly StreamPart[])[]): string {
  const writer = make();
  return batches.map((batch) => writer.write(batch)).join('') + writer.end(RECEIPT);
}

function batchesOf(events: readonly (readonly StreamPart[])[], sizes: readonly number[]): StreamPart[][] {
  const batches: StreamPart[][] = [];
  for (let at = 0; at < events.length; ) {
    const size = sizes[batches.length % sizes.length]!;
    batches.push(events.slice(at, at + size).flat());
    at += size;
  }
  return batches;
}

const sameText = (make: Make) =>
  fc.property(answers, splits, (events, sizes) => {
    expect(textOf(make, batchesOf(events, sizes))).toBe(textOf(make, [events.flat()]));
  });

const chats = answerRoutesOf([...SURFACES, ollamaChat]).filter(({ route }) => route.operation === 'chat');

describe.each(chats.map(({ surface, route }) => [surface.name, route] as const))('%s', (_, route) => {
  const forms = formsOf(route);

  test('writes the same text however the parts of an answer are split into batches', () => {
    for (const make of forms) fc.assert(sameText(make), { numRuns: 500 });
  });

  const [, events] = forms;
  test.if(events !== undefined)('the test detects a writer that joins the texts of a batch', () => {
    const joining: Make = () => {
      const writer = events!();
      return { write: (parts) => writer.write(joined(parts)), end: (receipt) => writer.end(receipt) };
    };
    expect(fc.check(sameText(joining), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});

/** The deliberate mistake that the test must detect. */
function joined(parts: readonly StreamPart[]): StreamPart[] {
  const all: StreamPart[] = [];
  for (const one of parts) {
    const last = all.at(-1);
    if (one.type === 'text' && last?.type === 'text' && last.choice === one.choice) {
      all[all.length - 1] = { ...last, text: last.text + one.text };
    } else all.push(one);
  }
  return all;
}
