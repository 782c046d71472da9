import { type DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import { openaiCompatible } from '../../plugins/providers/openai-compatible.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { ModelTraits, ProviderCall, WireAdapter } from '../../src/contract/provider.ts';
import { separateParts } from '../../src/contract/text-run.ts';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { Deadlines } from '../../src/core/policy/snapshot.ts';
import { arrived } from '../../src/providers/arrival.ts';
import { openCall } from '../../src/providers/call.ts';
import { UpstreamNetwork } from '../../src/providers/connection/network.ts';
import type { NextParts, UpstreamCall, UpstreamTarget } from '../../src/providers/upstream-call.ts';
import { chatRequest } from './model-request.ts';
import { wireAdapter } from './wire-request.ts';

export { joinParts } from '../../src/tools/conformance/parts.ts';

/** The network for calls that state no other. */
const network = new UpstreamNetwork();
export const { alarms: ALARMS } = network;

export const DEADLINES: Deadlines = { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 10_000 };

/** A call with defaults for everything that the test does not set. */
export function providerCall(
  request: Partial<ChatRequest> = {},
  rest: Partial<Omit<ProviderCall, 'request' | 'model'>> & { readonly model?: Partial<ModelTraits> } = {},
): ProviderCall {
  const { model, ...others } = rest;
  return {
    upstream: 'fake-model',
    request: chatRequest({ model: 'fake', ...request }),
    extras: {},
    stream: true,
    outputCap: 1_000,
    ...others,
    model: {
      capabilities: [],
      lacks: [],
      acceptsTemperature: true,
      ttftMs: 1,
      outputTokensPerSecond: 100_000,
      ...model,
    },
  };
}

/** The adapter for OpenAI's dialect with default settings, except for the given ones. */
export const openaiAdapter = (settings: Partial<DialectSettings> = {}) =>
  wireAdapter(openaiCompatible.prepare({ ...PLAIN, ...settings }));

export interface CallOptions {
  readonly call?: ProviderCall;
  readonly deadlines?: Partial<Deadlines>;
  readonly totalMs?: number;
  readonly apiKey?: string;
  readonly adapter?: WireAdapter;
  readonly allowPrivate?: boolean;
  /** The network that resolves names; a shared one by default. */
  readonly network?: UpstreamNetwork;
  /** The environment that names proxies. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A target at an address that speaks OpenAI's dialect. */
export function targetOf(baseUrl: string | null, options: CallOptions = {}): UpstreamTarget {
  const { adapter = openaiAdapter(), apiKey = 'sk-test', allowPrivate = false, env = {} } = options;
  const way = baseUrl === null ? null : { provider: 'fake', baseUrl, allowPrivate };
  return { adapter, apiKey, dial: way && (options.network ?? network).dial(way, (name) => env[name]) };
}

/** Opens a call to an address that speaks OpenAI's dialect. */
export function openTo(baseUrl: string | null, options: CallOptions = {}): UpstreamCall {
  return openCall(targetOf(baseUrl, options), options.call ?? providerCall(), {
    deadlines: { ...DEADLINES, ...options.deadlines },
    totalBy: performance.now() + (options.totalMs ?? 10_000),
    alarms: ALARMS,
  });
}

/** Waits for the next batch of an answer; null after its end. */
export const nextBatch = (answer: { read(): NextParts }): Promise<readonly StreamPart[] | null> =>
  arrived(() => answer.read());

/** Returns all parts of a call. */
export async function partsOf(call: UpstreamCall): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for (let batch = await nextBatch(call); batch; batch = await nextBatch(call)) parts.push(...separateParts(batch));
  return parts;
}

/** Returns the failure that ended a call; undefined for a clean end. */
export function failureIn(parts: readonly StreamPart[]) {
  const last = parts.at(-1);
  return last?.type === 'failure' ? last.failure : undefined;
}

export function textIn(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
