import { afterAll, expect, test } from 'bun:test';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { openTo, partsOf } from '../support/provider-call.ts';

const upstream = startFakeUpstream();
afterAll(() => upstream.stop());

/** A key made of words, as operators of their own servers choose it. */
const KEY = 'our-house-provider-passphrase';

test.each([
  ['stop', 'stop'],
  ['repetition_truncation', 'repetition_truncation'],
  ['a key of ours', KEY],
  ['a piece of the key at the end', `length ${KEY.slice(0, 14)}`],
  ['a novel', 'word '.repeat(100_000)],
])(
  'Signalbox passes a finish reason on unless the reason contains an API key or is not a word: %s',
  async (told, finish) => {
    upstream.next({ text: 'Hello', finish });
    const parts = await partsOf(openTo(upstream.url, { apiKey: KEY }));
    const raw = parts.flatMap((part) => (part.type === 'finish' ? [part.raw] : []));
    expect(raw).toEqual([told === finish ? finish : '']);
  },
);
