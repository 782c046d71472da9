import type { DialectName } from '../support/dialects/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Signalbox's models, the best first, and the names that their providers use. */
export const MODELS = {
  claude: { dialect: 'anthropic', adapter: 'anthropic', upstream: 'claude-haiku-5-5', quality: 0.9 },
  gpt: { dialect: 'openai', adapter: 'openai-compatible', upstream: 'gpt-5.1', quality: 0.8 },
  gemini: { dialect: 'gemini', adapter: 'gemini', upstream: 'gemini-3.8-flash', quality: 0.7 },
} as const;
export type ModelName = keyof typeof MODELS;

/** A server with a provider for each dialect. */
export interface World {
  readonly box: Signalbox;
  readonly upstreams: Readonly<Record<DialectName, FakeUpstream>>;
  stop(): Promise<void>;
}

const CAPABILITIES = 'tools, json_schema, json_mode, reasoning, vision, audio_input, file_input, choices, logprobs';

/** Prices are in USD per 1M tokens, so that a token of input costs 0.001 Credits. */
export async function startWorld(): Promise<World> {
  const start = (dialect: DialectName) => startFakeUpstream({ dialect, key: UPSTREAM_KEY });
  const upstreams = { openai: start('openai'), anthropic: start('anthropic'), gemini: start('gemini') };
  const entries = Object.entries(MODELS);
  const policy = testPolicy(
    Object.fromEntries(entries.map(([, { dialect, adapter }]) => [dialect, { url: upstreams[dialect].url, adapter }])),
    Object.fromEntries(
      entries.map(([id, { dialect, quality }]) => [
        id,
        {
          endpoints: [dialect],
          price: { input: 1, output: 5 },
          quality,
          more: id === 'gpt' ? '    lacks: [stop]\n' : '',
        },
      ]),
    ),
  )
    .replaceAll('[tools, json_schema]', `[${CAPABILITIES}]`)
    .replaceAll('    price: { input: 1,', '    price: { input: 1, cached_input: 0.1, cache_write: 1.25,')
    .replace(/(\w+)-upstream/g, (_, id: ModelName) => MODELS[id].upstream);
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  return {
    box,
    upstreams,
    async stop() {
      await box.stop();
      await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
    },
  };
}

/** The message of an answer, including state that only its model can read. */
export interface Message {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly extra_content?: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly extra_content?: unknown }[];
}
