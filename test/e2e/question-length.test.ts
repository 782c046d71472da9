import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf } from '../support/answers.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/**
 * The qualities in the fixture are from the last version that learned from outcomes (57258952), with `learning: off`, for the same requests
 * in the same order and a restart after half of them. The form of a request decides whether its task is `tool_use`, `vision` or one of the
 * tasks without declared qualities, so the fixture does not depend on how words are read. A mix of these tasks has exactly their `default`,
 * because its binary fraction is short.
 */
const FIXTURE = join(import.meta.dir, '../fixtures/question-lengths/expected.json');
const PATIENCE = 60_000;
const REQUESTS = 240;

const POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  able:
    provider: sim
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    capabilities: [tools, vision, audio_input]
    quality: { default: 0.875, tool_use: 0.985, vision: 0.6, basis: guessed }
  small:
    provider: sim
    price: { input: 0.1, output: 0.4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    capabilities: [tools, vision, audio_input]
    quality: { default: 0.375, tool_use: 0.01, basis: unknown }
`;

const OPENINGS = [
  'Write a Python function that ',
  'Solve for x and prove it: ',
  'Translate into French: ',
  'Summarize this text: ',
  'Hello! ',
  '',
];
const WORDS = [
  ...['the', 'Quick', 'añadir', 'naïve', 'função', 'résumé', 'x1y2', '3.14159', '42', '1000000', '²', 'ﬀ', 'ß'],
  ...[
    'def f(x): return x',
    'a=b+c;',
    '{"k":[1,2]}',
    '東京都',
    'สวัสดี',
    '🙂🙂',
    '\u2028',
    '\u00a0',
    '--',
    '…',
    'Ωμέγα',
    '१२३',
  ],
];

/** Draws numbers below `n` (Park and Miller 1988). */
function drawsFrom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
}

const TOOLS = {
  tools: [{ type: 'function', function: { name: 'note', parameters: { type: 'object', properties: {} } } }],
  tool_choice: 'required',
};
const AUDIO = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

/** The requests by form: with a tool that must be called, with an image, and with audio. The difficulty of images and audio is not read. */
const FORMS: readonly ((text: string) => object)[] = [
  (text) => ({ messages: [{ role: 'user', content: text }], ...TOOLS }),
  (text) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }, IMAGE] }] }),
  (text) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }, AUDIO] }] }),
];

function requestsFrom(seed: number): object[] {
  const draw = drawsFrom(seed);
  return Array.from({ length: REQUESTS }, () => {
    const words = 2 ** draw(11) + draw(7);
    const opening = OPENINGS[draw(OPENINGS.length)]!;
    const text =
      opening + Array.from({ length: words }, () => WORDS[draw(WORDS.length)]!).join(draw(5) === 0 ? '' : ' ');
    return FORMS[draw(FORMS.length)]!(text);
  });
}

interface Explained {
  readonly candidates: readonly {
    readonly model: string;
    readonly counted_quality: number;
    readonly estimate: Readonly<Record<string, unknown>> | null;
  }[];
  readonly replay: { readonly matches: boolean };
}

let box: Signalbox;
const data = temporaryFolder();
const start = () => startSignalbox({ policy: POLICY, data });

beforeAll(async () => {
  box = await start();
});
afterAll(async () => {
  await box.stop();
  rmSync(data, { recursive: true, force: true });
});

async function figuresOf(request: object) {
  const { platform } = await answerOf(
    await box.post('/v1/chat/completions', { model: 'auto', max_tokens: 16, ...request }),
  );
  const body = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as Explained;
  expect(body.replay.matches).toBe(true);
  const byModel = body.candidates.toSorted((one, other) => (one.model < other.model ? -1 : 1));
  return byModel.flatMap(({ counted_quality, estimate }) => [counted_quality, estimate]);
}

test(
  'the length of a question corrects declared qualities exactly as in the fixture, and also after a restart',
  async () => {
    const figures: unknown[] = [];
    for (const [at, request] of requestsFrom(20_261_127).entries()) {
      if (at === REQUESTS / 2) {
        box.signal('SIGTERM');
        await box.exited;
        box = await start();
      }
      figures.push(await figuresOf(request));
    }
    expect(figures).toEqual(JSON.parse(readFileSync(FIXTURE, 'utf8')));
  },
  PATIENCE,
);
