import { shipped } from '../../plugins/index.ts';
import { PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type {
  HttpCall,
  ModelTraits,
  PreparedProvider,
  ProviderCall,
  WireAdapter,
} from '../../src/contract/provider.ts';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import {
  capabilityBits,
  lackingBits,
  MODEL_CAPABILITIES,
  OF_EVERY_DIALECT,
} from '../../src/core/request/capability.ts';
import { callerMessage } from '../support/caller-message.ts';
import type { WireRequest } from '../support/dialects/dialect.ts';
import { DIALECTS, type DialectName } from '../support/dialects/index.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { WIRE_ADAPTERS } from '../support/wire-adapters.ts';

export type Adapter = WireAdapter & PreparedProvider;

/** An adapter, with model names that decide which features it uses. */
export interface Subject {
  readonly name: string;
  readonly dialect: DialectName;
  /** Name of the plugin that makes the adapter. */
  readonly plugin: string;
  readonly adapter: Adapter;
  readonly upstreams: readonly string[];
  /** Additional fields that the preset lets through. */
  readonly extras?: readonly Readonly<Record<string, unknown>>[];
  /** All models of the service reason, refuse a temperature, and refuse encrypted reasoning of other services. */
  readonly isOpenAi?: true;
}

const MARK = { type: 'ephemeral', ttl: '1h' };

const KNOWN: readonly Subject[] = [
  {
    name: 'Claude of old',
    dialect: 'anthropic',
    ...adapterOf('anthropic', { service: 'anthropic', prompt_cache: 'by_caller' }),
    upstreams: ['claude-opus-4-1', 'claude-haiku-4-5', 'claude-sonnet-4-5', 'claude-opus-4-6'],
    extras: [{ top_k: 5 }, { cache_control: MARK }],
  },
  {
    name: 'Claude of today',
    dialect: 'anthropic',
    ...adapterOf('anthropic', { service: 'anthropic', prompt_cache: 'auto' }),
    upstreams: ['claude-sonnet-5', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-fable-5-1'],
    extras: [{ top_k: 5 }, { cache_control: MARK }],
  },
  {
    name: 'Gemini 2.5',
    dialect: 'gemini',
    ...adapterOf('gemini', { service: 'gemini' }),
    upstreams: ['gemini-2.5-flash', 'gemini-2.5-pro'],
    extras: [{ safetySettings: [] }],
  },
  {
    name: 'Gemini of today',
    dialect: 'gemini',
    ...adapterOf('gemini', { service: 'gemini' }),
    upstreams: [
      'gemini-3.1-pro-preview',
      'gemini-3.5-flash-lite',
      'gemini-3.8-flash',
      'gemini-4-pro',
      'gemini-flash-latest',
    ],
  },
  {
    name: 'OpenAI’s dialect',
    dialect: 'openai',
    ...adapterOf('openai-compatible', PLAIN),
    upstreams: ['plain'],
    extras: [{ verbosity: 'low' }],
  },
  {
    name: 'OpenAI’s models',
    dialect: 'openai',
    ...adapterOf('openai', { service: 'openai', reasoning_summaries: 'auto' }),
    upstreams: ['gpt-6-luna', 'gpt-6.1-sol', 'gpt-5.6-terra', 'gpt-5.4'],
    extras: [{ verbosity: 'low' }],
    isOpenAi: true,
  },
];

/** The subjects of the law. Other shipped adapters are added by the dialects that they state. */
export const SUBJECTS: readonly Subject[] = [
  ...KNOWN,
  ...WIRE_ADAPTERS.filter(({ name }) => KNOWN.every(({ plugin }) => plugin !== name)).map(
    ({ name, ...other }): Subject => ({ ...other, name, plugin: name, upstreams: ['plain'] }),
  ),
];

function adapterOf(name: string, settings: Readonly<Record<string, unknown>>): Pick<Subject, 'plugin' | 'adapter'> {
  const plugin = shipped.find((one) => one.name === name);
  if (plugin?.kind !== 'provider') throw new Error(`there is no adapter ${name}`);
  const prepared = plugin.prepare(settings);
  if (prepared.kind !== 'wire') throw new Error('not a wire adapter');
  return { plugin: name, adapter: prepared };
}

/** Returns the traits of a model that has everything in its dialect. */
export function traitsOf(reasons: boolean, acceptsTemperature: boolean): ModelTraits {
  const capabilities = MODEL_CAPABILITIES.filter((name) => reasons || name !== 'reasoning');
  return { capabilities, lacks: [], acceptsTemperature, ttftMs: 1, outputTokensPerSecond: 100 };
}

/** Returns the capability bits of a model at this adapter. */
export function abilities({ adapter }: Subject, { model, upstream }: ProviderCall): number {
  const lacks = adapter.lacks?.(model, upstream) ?? [];
  return (capabilityBits(model.capabilities) | OF_EVERY_DIALECT) & ~lackingBits(lacks);
}

const KEY = 'key-of-the-fake';

/** Returns the request as its server would receive it. */
export function onTheWire({ dialect, adapter }: Subject, { path, headers, body }: HttpCall): WireRequest {
  const url = new URL(`http://localhost${DIALECTS[dialect].basePath}${path}`);
  const { header, prefix } = adapter.auth!;
  return {
    method: 'POST',
    path: url.pathname,
    query: url.searchParams,
    headers: new Headers({ 'content-type': 'application/json', ...headers, [header]: prefix + KEY }),
    text: body,
    body: JSON.parse(body),
  };
}

/** Returns why the server refuses a request; null if it accepts it. */
export function refusalOf({ dialect }: Subject, request: WireRequest): string | null {
  const refusal = DIALECTS[dialect].refusal(request, KEY);
  return refusal && JSON.stringify(refusal.body);
}

/** Returns the server's answer as the caller receives it and sends it back later. */
export function answerTo({ dialect, adapter }: Subject, request: WireRequest, behaviour: Behaviour): ChatMessage {
  const server = DIALECTS[dialect];
  return callerMessage(
    server.asksForStream(request)
      ? partsOf(adapter, server.events(request, behaviour).join('') + server.end)
      : adapter.reply(JSON.stringify(server.reply(request, behaviour))),
  );
}

function partsOf(adapter: Adapter, stream: string): StreamPart[] {
  const reader = adapter.stream();
  return stream.split(/\r?\n\r?\n/).flatMap((frame) => {
    const [, event = ''] = /^event: (.*)$/m.exec(frame) ?? [];
    const [, data = ''] = /^data: (.*)$/m.exec(frame) ?? [];
    return [...reader.read({ event, data })];
  });
}
