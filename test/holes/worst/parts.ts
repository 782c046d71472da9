import type { StreamPart } from '../../../src/contract/parts.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { list, members } from './requests.ts';

const text = (piece = 'x'): StreamPart => ({ type: 'text', choice: 0, text: piece });
const call = (index: number, rest: object = {}): StreamPart => ({
  type: 'tool-call',
  choice: 0,
  index,
  arguments: '',
  ...rest,
});
const begun = (index: number): StreamPart => call(index, { id: `call${index}`, name: 'look' });
const state = (at: number): StreamPart => ({
  type: 'state',
  choice: 0,
  details: [{ type: 'reasoning.text', text: `${at}` }],
});
const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
const usage = (at: number): StreamPart => ({ type: 'usage', usage: plainUsage(1, at) });

/** The most calls that adapters pass on in one answer. */
const CALLS = 512;

/** The worst answers, as parts that arrive one by one, by what they have many of. */
export const WORST_PARTS: Readonly<Record<string, (parts: number) => readonly StreamPart[]>> = {
  texts: (parts) => [...list(parts, () => text()), FINISH],
  'a long text': (parts) => [text('x"\\\n'.repeat(parts)), FINISH],
  'texts and refusals in turn': (parts) => [
    ...list(parts, (at): StreamPart => (at % 2 === 0 ? text() : { type: 'refusal', choice: 0, text: 'no' })),
    FINISH,
  ],
  'texts and thoughts in turn': (parts) => [
    ...list(parts, (at): StreamPart => (at % 2 === 0 ? text() : { type: 'reasoning', choice: 0, text: 'hm' })),
    FINISH,
  ],
  'texts with probabilities': (parts) => [
    ...list(parts, () => [
      text(),
      { type: 'logprobs', choice: 0, content: [{ token: 'x' }], refusal: [] } as const,
    ]).flat(),
    FINISH,
  ],
  'states before words': (parts) => [...list(parts, state), text(), FINISH],
  'states behind words': (parts) => [text(), ...list(parts, state), FINISH],
  'a state with many entries': (parts) => [
    { type: 'state', choice: 0, details: list(parts, () => ({ data: 'x' })) },
    text(),
    FINISH,
  ],
  'pieces of a call': (parts) => [
    begun(0),
    call(0, { arguments: '{"a":"' }),
    ...list(parts, () => call(0, { arguments: 'x' })),
    FINISH,
  ],
  'pieces of a call and texts in turn': (parts) => [
    begun(0),
    call(0, { arguments: '{"a":"' }),
    ...list(parts, () => [text(), call(0, { arguments: '}' })]).flat(),
    FINISH,
  ],
  'pieces of a call that may each be its end': (parts) => [
    begun(0),
    text(),
    call(0, { arguments: '{' }),
    ...list(parts, (at) => call(0, { arguments: `"a${at}":{},` })),
    FINISH,
  ],
  'pieces of many calls in turn': (parts) => [
    ...list(CALLS, begun),
    ...list(parts, (at) => call(at % CALLS, { arguments: '{' })),
    FINISH,
  ],
  'pieces of calls with state': (parts) => [
    ...list(CALLS, begun),
    ...list(parts, (at) => call(at % CALLS, { arguments: ' ', extra: { google: {} } })),
    FINISH,
  ],
  'arguments with many members': (parts) => [
    begun(0),
    call(0, { arguments: JSON.stringify(members(parts, () => 1)) }),
    FINISH,
  ],
  usages: (parts) => [text(), ...list(parts, usage), FINISH],
};
