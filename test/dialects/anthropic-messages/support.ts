import fc from 'fast-check';
import type { StreamPart } from '../../../src/contract/parts.ts';
import type { Receipt } from '../../../src/core/decision/answer.ts';
import { MessageEvents } from '../../../src/dialects/anthropic-messages/events.ts';
import { MessageWriter } from '../../../src/dialects/anthropic-messages/message.ts';
import { RECEIPT } from '../../support/caller-message.ts';

export const IDENTITY = { decision: 1, created: 1_790_000_000, model: 'm' };
const UNITS = { cached_input: 8, cache_write: 2 };
const USAGE = { inputTokens: 30, outputTokens: 9, reasoningTokens: 4, units: UNITS };
export const WITH_USAGE: Receipt = { ...RECEIPT, usage: USAGE };

const text = fc.string({ minLength: 1, maxLength: 4, unit: 'binary' });
const extra = text.map((thought_signature) => ({ google: { thought_signature } }));
const details = fc.array(
  text.map((data) => ({ type: 'reasoning.encrypted', data })),
  {
    minLength: 1,
    maxLength: 2,
  },
);

const said: fc.Arbitrary<StreamPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), choice: fc.constant(0), text }),
  fc.record({ type: fc.constant('reasoning' as const), choice: fc.constant(0), text }),
  fc.record({ type: fc.constant('state' as const), choice: fc.constant(0), details }),
  fc.record({ type: fc.constant('state' as const), choice: fc.constant(0), extra }),
);

/** A call in pieces, complete or cut off, with or without state. */
const callOf = (index: number): fc.Arbitrary<StreamPart[]> =>
  fc
    .tuple(fc.constantFrom('', '{}', '{"a":1}', '{"b":{"c":[1,2]}}', '{"a":'), fc.option(extra), fc.nat(3))
    .map(([args, state, cut]) => [
      {
        type: 'tool-call',
        choice: 0,
        index,
        id: `call_${index}`,
        name: 'f',
        arguments: args.slice(0, cut),
        ...(state && { extra: state }),
      },
      ...(args.length > cut ? [{ type: 'tool-call' as const, choice: 0, index, arguments: args.slice(cut) }] : []),
    ]);

/** The parts of an answer: text, thinking and state, then calls whose pieces may be interleaved. */
export const answers: fc.Arbitrary<StreamPart[]> = fc
  .tuple(fc.array(said, { maxLength: 8 }), fc.array(fc.boolean(), { maxLength: 6 }), callOf(0), callOf(1))
  .map(([words, order, first, second]) => {
    const parts = [...words];
    const queues = [[...first], [...second]];
    for (const which of order) {
      const next = queues[which ? 1 : 0]!.shift();
      if (next) parts.push(next);
    }
    return [...parts, ...queues.flat(), { type: 'finish', choice: 0, reason: 'tool_calls', raw: 'x' }];
  });

export function jsonOf(parts: readonly StreamPart[], receipt: Receipt = WITH_USAGE): string {
  const writer = new MessageWriter(IDENTITY);
  writer.write(parts);
  return writer.end(receipt);
}

export function eventsOf(parts: readonly StreamPart[], receipt: Receipt = WITH_USAGE): string {
  const writer = new MessageEvents(IDENTITY);
  return writer.write(parts) + writer.end(receipt);
}
