import { afterAll, beforeAll } from 'bun:test';
import type { Platform } from '../../src/core/decision/answer.ts';
import { DIALECTS, type DialectName } from './dialects/index.ts';
import { type Behaviour, type FakeUpstream, type RecordedRequest, startFakeUpstream } from './fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from './policies.ts';
import { type Signalbox, startSignalbox } from './signalbox.ts';

/** A gateway that clients talk to, and the upstream that the gateway calls. */
export interface Bench {
  readonly box: Signalbox;
  readonly upstream: FakeUpstream;
  /** The base URL for clients. */
  readonly baseURL: string;
  /** The number of events of a stream up to and including this many pieces of text. */
  eventsWith(pieces: number): number;
}

/** The dialects that an upstream may speak. A client must not notice which of them the upstream speaks. */
export const UPSTREAM_DIALECTS = Object.keys(DIALECTS) as DialectName[];

/** The dialects of `UPSTREAM_DIALECTS` and OpenAI's own Responses service, which receives Responses requests unchanged. */
export const RESPONSES_UPSTREAMS = [...UPSTREAM_DIALECTS, 'openai-responses'] as const;

/**
 * For each dialect: its adapter, the upstream's names of our models (from which adapters derive the fields that a model accepts), and the
 * first event of a stream.
 */
const SPOKEN = {
  'openai-responses': {
    adapter: 'openai',
    best: 'gpt-6-luna',
    hasty: 'gpt-5.4-nano',
    plain: 'gpt-5.4-mini',
    opening: 4,
  },
  openai: { adapter: 'openai-compatible', best: 'gpt-best', hasty: 'gpt-hasty', plain: 'gpt-plain', opening: 1 },
  anthropic: {
    adapter: 'anthropic',
    best: 'claude-haiku-5-5',
    hasty: 'claude-haiku-4-5',
    plain: 'claude-sonnet-4-5',
    opening: 3,
  },
  gemini: {
    adapter: 'gemini',
    best: 'gemini-3.8-flash',
    hasty: 'gemini-3.5-flash-lite',
    plain: 'gemini-2.5-flash',
    opening: 0,
  },
} as const;

/** The gateway sends the status 200 of a stream after this time, even without content, ms. */
export const COMMIT_AFTER_MS = 500;

/** Starts a gateway and an upstream for a group of tests. The members of the result are set before the first test runs. */
export function startBench(spoken: keyof typeof SPOKEN = 'openai'): Bench {
  const dialect = spoken === 'openai-responses' ? 'openai' : spoken;
  const bench: { box?: Signalbox; upstream?: FakeUpstream } = {};
  const { adapter, best, hasty, plain, opening } = SPOKEN[spoken];
  beforeAll(async () => {
    bench.upstream = startFakeUpstream({ dialect, key: UPSTREAM_KEY });
    const policy = testPolicy(
      { fake: { url: bench.upstream.url, adapter } },
      {
        best: { endpoints: ['fake'], quality: 0.9 },
        hasty: { endpoints: ['fake'], quality: 0.1, more: '    deadlines: { total_ms: 100 }\n' },
        'vendor/plain': { endpoints: ['fake'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
      },
      `baseline: best\ngateway: { commit_after_ms: ${COMMIT_AFTER_MS}, retries_max: 0, failed_streams: break }\n`,
    )
      .replaceAll('[tools, json_schema]', '[tools, json_schema, reasoning, choices, logprobs]')
      .replace('best-upstream', best)
      .replace('hasty-upstream', hasty)
      .replace('vendor/plain-upstream', plain);
    bench.box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  });
  afterAll(async () => {
    await bench.box?.stop();
    await bench.upstream?.stop();
  });
  return {
    get box() {
      return bench.box!;
    },
    get upstream() {
      return bench.upstream!;
    },
    get baseURL() {
      return `${bench.box!.url}/v1`;
    },
    eventsWith: (pieces) => opening + pieces,
  };
}

/** Returns the member `platform` of an answer or a chunk, as a client reads it that knows this extension. */
export function platformOf(answer: object | undefined): Platform | undefined {
  return (answer as { readonly platform?: Platform } | undefined)?.platform;
}

/** A model that calls the weather tool for Bern, and repeats the result once it has the result. */
export function asksForWeather({ asked }: RecordedRequest): Behaviour {
  const [result] = asked.turns.at(-1)?.results ?? [];
  if (result === undefined) return { toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}', id: 'call_1' }] };
  return { text: `It is ${result.text} in Bern.` };
}
