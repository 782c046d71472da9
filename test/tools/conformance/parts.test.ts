import { describe, expect, test } from 'bun:test';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { partsFault } from '../../../src/tools/conformance/parts.ts';

/** A part of each type, and the names of its optional members. */
const PARTS: Readonly<Record<StreamPart['type'], readonly [StreamPart, ...string[]]>> = {
  text: [{ type: 'text', choice: 0, text: '' }],
  reasoning: [{ type: 'reasoning', choice: 1, text: 'Hm.' }],
  refusal: [{ type: 'refusal', choice: 0, text: 'No.' }],
  'tool-call': [
    { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f', arguments: '{', extra: {} },
    ...['id', 'name', 'extra'],
  ],
  state: [{ type: 'state', choice: 0, details: [{}], extra: {} }, 'details', 'extra'],
  logprobs: [{ type: 'logprobs', choice: 0, content: [], refusal: [] }],
  passthrough: [{ type: 'passthrough', choice: 0, event: {}, json: '{}' }, 'json'],
  unread: [{ type: 'unread', choice: 0, unread: { texts: ['x'], stateChars: 4 } }],
  embedding: [{ type: 'embedding', choice: 0, index: 2, vector: [0.5] }],
  finish: [{ type: 'finish', choice: 0, reason: 'stop', raw: 'end_turn' }],
  usage: [{ type: 'usage', usage: plainUsage(1, 1), serviceTier: 'flex' }, 'usage', 'serviceTier'],
  failure: [{ type: 'failure', failure: { kind: 'cut', message: 'It broke off.', status: 200, retryAfterMs: 5 } }],
};
const ALL = Object.values(PARTS);

/** Values that a member with this name must not have, in addition to values of the wrong type. */
const SPOILT: Readonly<Record<string, readonly unknown[]>> = {
  choice: [-1, 0.5],
  index: [-1, 0.5],
  details: [[1]],
  vector: [['1']],
  unread: [
    { texts: [1], stateChars: 4 },
    { texts: [], stateChars: -1 },
  ],
  json: ['{', '{\n}'],
  reason: ['ended'],
  usage: [{ ...plainUsage(1, 1), units: { cache_write: '0' } }],
  failure: [
    { kind: 'sad', message: '' },
    { kind: 'cut', message: null },
    { kind: 'cut', message: '', status: -1 },
    { kind: 'cut', message: '', retryAfterMs: -1 },
  ],
};

describe('the parts of an answer', () => {
  test.each(ALL)('a part is valid with and without its optional members: %o', (part, ...optional) => {
    expect(partsFault([part])).toBeNull();
    for (const name of optional) expect(partsFault([{ ...part, [name]: undefined }])).toBeNull();
  });

  test.each(ALL)('a part is invalid if any member is invalid: %o', (part, ...optional) => {
    for (const name of Object.keys(part).filter((one) => one !== 'type')) {
      const values = [true, ...(optional.includes(name) ? [] : [undefined]), ...(SPOILT[name] ?? [])];
      for (const value of values) expect([name, value, partsFault([{ ...part, [name]: value }])]).not.toContain(null);
    }
  });

  test('parts must be a list of objects with a known type', () => {
    for (const parts of [{}, null, [null], [{}], [{ type: 'toString' }], ['text']])
      expect(partsFault(parts)).not.toBeNull();
    expect(partsFault([])).toBeNull();
  });

  test('a batch, and an event that is passed through, contain only parts of the first choice', () => {
    for (const [part] of [PARTS.passthrough, PARTS.embedding])
      expect(partsFault([{ ...part, choice: 1 }])).not.toBeNull();
  });
});
