import { afterAll, beforeAll } from 'bun:test';
import type { Platform } from '../../src/gateway/receipt.ts';
import {
  type Behaviour,
  type FakeUpstream,
  type RecordedRequest,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** The server that clients talk to, and the upstream behind it. */
export interface Bench {
  readonly box: Signalbox;
  readonly upstream: FakeUpstream;
  /** What a client takes as its base URL. */
  readonly baseURL: string;
}

/** After this long without content, a stream's 200 goes out. */
export const COMMIT_AFTER_MS = 500;

/** Starts both for a test file. What it gives is filled in before the first test runs. */
export function startBench(): Bench {
  const bench: { box?: Signalbox; upstream?: FakeUpstream } = {};
  beforeAll(async () => {
    bench.upstream = startFakeUpstream({ key: UPSTREAM_KEY });
    const policy = testPolicy(
      { fake: bench.upstream.url },
      {
        best: { endpoints: ['fake'], quality: 0.9 },
        hasty: { endpoints: ['fake'], quality: 0.1, more: '    deadlines: { total_ms: 100 }\n' },
        'vendor/plain': { endpoints: ['fake'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
      },
      `baseline: best\ngateway: { commit_after_ms: ${COMMIT_AFTER_MS}, retries_max: 0 }\n`,
    ).replaceAll('[tools, json_schema]', '[tools, json_schema, choices, logprobs]');
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
  };
}

/** The extra member of an answer or a chunk, as a caller who knows of it reads it. */
export function platformOf(answer: object | undefined): Platform | undefined {
  return (answer as { readonly platform?: Platform } | undefined)?.platform;
}

/** A model that asks for the weather in Bern, and once it has been told, says so. */
export function asksForWeather({ body }: RecordedRequest): Behaviour {
  const last = (body.messages as readonly { readonly role: string; readonly content: unknown }[]).at(-1);
  if (last?.role !== 'tool') return { toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}', id: 'call_1' }] };
  return { text: `It is ${String(last.content)} in Bern.` };
}
