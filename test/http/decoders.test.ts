import { afterAll, beforeAll, test } from 'bun:test';
import { once } from 'node:events';
import { constants, createBrotliCompress } from 'node:zlib';
import { quietFor, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** How many decoders with the largest window of `br`, 16 MiB, fit into the memory of all decoders, 128 MiB. */
const FITTING = 7;

let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = testPolicy({ up: upstream.url }, { zipped: { endpoints: ['up'] } }, '\ngateway: { retries_max: 0 }\n');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(() => Promise.all([box.stop(), upstream.stop()]));

/** Returns the beginning of a compressed stream, whose decoder needs the largest window. */
async function firstEvent(): Promise<Uint8Array> {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 };
  const zip = createBrotliCompress({ params, flush: constants.BROTLI_OPERATION_FLUSH });
  const event = { id: 'x', choices: [{ index: 0, delta: { content: 'first' } }] };
  zip.write(`data: ${JSON.stringify(event)}\n\n`);
  const [bytes] = await once(zip, 'data');
  return new Uint8Array(bytes);
}

test('the decoders of all compressed answers share a limited memory, and an answer without room waits until another one ends', async () => {
  const headers = { 'content-encoding': 'br', 'content-type': 'text/event-stream' };
  upstream.behave({ raw: [await firstEvent()], headers, keepOpen: true });
  const begun = new Set<number>();
  const calls = Array.from({ length: FITTING + 2 }, (_, at) => {
    const leaving = new AbortController();
    const reading = async () => {
      const body = { model: 'zipped', stream: true, messages: [{ role: 'user', content: 'Say much.' }] };
      const response = await box.post('/v1/chat/completions', body, { signal: leaving.signal });
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) if (decoder.decode(bytes).includes('first')) begun.add(at);
    };
    reading().catch(() => {});
    return leaving;
  });
  await waitFor(() => begun.size === FITTING);
  await quietFor(200, 'another decoder', () => begun.size > FITTING);
  for (const more of [1, 2]) {
    calls[[...begun][more]!]!.abort();
    await waitFor(() => begun.size === FITTING + more);
  }
  for (const call of calls) call.abort();
});
