import { afterAll, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { forgetPeak, peakMiB, residentMiB } from '../../support/process.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Streams that are much longer than what guards hold back of them. */

const STREAMS = 5;
const MIB = 1_048_576;
/** The text of each stream, MiB, and the limit for all texts that are held, bytes. */
const TEXT_MIB = 10;
const ROOM = 8 * MIB;
/** The memory that the runtime needs to pass the streams on, MiB. */
const RUNTIME_MIB = 110;

let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const guard = (name: string, onMatch: string, more = '') =>
    `  - { name: ${name}, guard: secrets, on: [output], on_match: ${onMatch}, deadline_ms: 60000, when: request.metadata.guard == "${name}"${more} }`;
  const guards = [guard('window', 'mask'), guard('flag', 'flag'), guard('whole', 'block', ', buffer: whole')];
  const policy = testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'] } },
    `guards:\n${guards.join('\n')}\ngateway: { answers_bytes_max: ${ROOM} }\n`,
  );
  box = await startSignalbox({ isProcess: true, policy, env: UPSTREAM_ENV });
});
afterAll(() => Promise.all([box.stop(), upstream.stop()]));

/** Some events of a stream, with this many characters of text. */
const LETTERS = 16_384;
const PIECE = 'The answer goes on. '.repeat(3);
const event = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const SOME = event({ content: PIECE }).repeat(Math.ceil(LETTERS / PIECE.length));
const END = `${event({}, 'stop')}data: [DONE]\n\n`;

/** Reads a stream to its end. @returns the end of its text */
async function readStream(guard: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Say much.' }];
  const response = await box.post('/v1/chat/completions', {
    model: 'best',
    messages,
    metadata: { guard },
    stream: true,
  });
  let end = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) end = (end + decoder.decode(bytes, { stream: true })).slice(-2_000);
  return end;
}

const longStream = (mib: number) => ({ raw: [...Array<string>((mib * MIB) / LETTERS).fill(SOME), END] });

test.each(['window', 'flag'])('a guard with a window keeps no text that was shown: %s', async (guard) => {
  upstream.behave(longStream(1));
  await readStream(guard);
  upstream.behave(longStream(TEXT_MIB));
  forgetPeak(box.pid);
  const before = residentMiB(box.pid);
  const ends = await Promise.all(Array.from({ length: STREAMS }, () => readStream(guard)));
  const growth = peakMiB(box.pid) - before;
  console.log(`${guard}: ${STREAMS} streams with ${TEXT_MIB} MiB of text: ${Math.round(growth)} MiB more at the most`);
  for (const end of ends) expect(end).toContain('[DONE]');
  expect(growth).toBeLessThan(RUNTIME_MIB);
});

test('texts that guards hold back count under `answers_bytes_max`, and a stream without memory ends', async () => {
  upstream.behave(longStream(1));
  expect(await readStream('whole')).toContain('[DONE]');
  upstream.behave(longStream(TEXT_MIB));
  forgetPeak(box.pid);
  const before = residentMiB(box.pid);
  const ends = await Promise.all(Array.from({ length: STREAMS }, () => readStream('whole')));
  console.log(`whole: ${Math.round(peakMiB(box.pid) - before)} MiB more at the most`);
  const refused = ends.filter((end) => end.includes('no memory left for this answer'));
  // A caller’s only stream always gets memory.
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length + ends.filter((end) => end.includes('[DONE]')).length).toBe(STREAMS);
  // The memory is free again at the end of the streams.
  upstream.behave(longStream(1));
  await waitFor(async () => (await readStream('whole')).includes('[DONE]'));
});
