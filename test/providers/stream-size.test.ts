import { afterAll, expect, test } from 'bun:test';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { failureIn, nextBatch, openTo, providerCall } from '../support/provider-call.ts';

const upstream = startFakeUpstream();
afterAll(() => upstream.stop());

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const MEGABYTE = event({ content: 'a'.repeat(1_000_000) });

/** A comment, which counts as much as content and is read faster. */
const MEGABYTE_OF_COMMENT = `: ${'a'.repeat(1_000_000)}\n\n`;

/** Returns the number of received characters of a stream of this many megabytes, and its end. */
async function heard(megabytes: number, stream: boolean, comments = 0) {
  const raw = [
    ...Array.from({ length: megabytes }, () => MEGABYTE),
    ...Array.from({ length: comments }, () => MEGABYTE_OF_COMMENT),
    event({}, 'stop'),
  ];
  upstream.next({ raw, contentType: 'text/event-stream' });
  const call = openTo(upstream.url, { call: providerCall({}, { stream }), totalMs: 30_000 });
  let characters = 0;
  for (let batch = await nextBatch(call); batch; batch = await nextBatch(call)) {
    for (const part of batch) if (part.type === 'text') characters += part.text.length;
    const failure = failureIn(batch);
    if (failure) return { characters, failure };
  }
  return { characters, failure: null };
}

test('a stream instead of a JSON answer has the JSON answer’s size limit', async () => {
  expect(await heard(30, false)).toEqual({ characters: 30_000_000, failure: null });
  expect((await heard(40, false)).failure).toMatchObject({ kind: 'malformed', message: 'the answer was too large' });
});

test('a stream may be longer than a JSON answer, but has a limit', async () => {
  expect(await heard(40, true)).toEqual({ characters: 40_000_000, failure: null });
  expect((await heard(40, true, 240)).failure).toMatchObject({
    kind: 'malformed',
    message: 'the answer was too large',
  });
});
