import type { ModelTraits, WireAdapter } from '../../src/contract/provider.ts';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { CAPABILITIES, type Capability, capabilityNames } from '../../src/core/request/capability.ts';
import { profile } from '../support/chat-body.ts';
import { providerCall } from '../support/provider-call.ts';

/** A feature that a request may use in addition to its text. */
export interface Probe {
  readonly asks: string;
  readonly fields: Partial<ChatRequest>;
  /** Other members of the request. */
  readonly beside?: Partial<ChatRequest>;
}

const PROMPT: ChatMessage = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
const TOOL = { type: 'function' as const, function: { name: 'clock', parameters: { type: 'object' } } };
const withTool = { tools: [TOOL] };
const withPart = (part: object): Partial<ChatRequest> => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, part] } as ChatMessage],
});
const before = (message: ChatMessage): Partial<ChatRequest> => ({ messages: [message, PROMPT] });
const schema = { type: 'object', additionalProperties: false };

/** The features that are tried with every adapter, in the order of the page. */
export const PROBES: readonly Probe[] = [
  { asks: 'a `system` message', fields: before({ role: 'system', content: 'S' }) },
  { asks: 'a `developer` message', fields: before({ role: 'developer', content: 'D' }) },
  {
    asks: 'an `assistant` message at the end',
    fields: { messages: [PROMPT, { role: 'assistant', content: 'It is' }] },
  },
  { asks: '`temperature: 0.5`', fields: { temperature: 0.5 } },
  { asks: '`temperature` above 1', fields: { temperature: 1.5 } },
  { asks: '`top_p`', fields: { top_p: 0.9 } },
  { asks: '`frequency_penalty`, `presence_penalty`', fields: { frequency_penalty: 1, presence_penalty: 1 } },
  { asks: '`stop`', fields: { stop: ['END'] } },
  { asks: '`seed`', fields: { seed: 7 } },
  { asks: '`n` above 1', fields: { n: 2 } },
  { asks: '`logprobs`', fields: { logprobs: true, top_logprobs: 2 } },
  { asks: '`logit_bias`', fields: { logit_bias: { '50256': -100 } } },
  { asks: '`reasoning_effort: high`', fields: { reasoning_effort: 'high' } },
  { asks: '`reasoning_effort: none`', fields: { reasoning_effort: 'none' } },
  { asks: '`tools`', fields: withTool },
  { asks: '`tool_choice: none`', fields: { tool_choice: 'none' }, beside: withTool },
  { asks: '`tool_choice: required`', fields: { tool_choice: 'required' }, beside: withTool },
  {
    asks: '`tool_choice` by name',
    fields: { tool_choice: { type: 'function', function: { name: 'clock' } } },
    beside: withTool,
  },
  {
    asks: 'a forced `tool_choice` together with `reasoning_effort`',
    fields: { tool_choice: 'required' },
    beside: { ...withTool, reasoning_effort: 'high' },
  },
  { asks: '`parallel_tool_calls: false`', fields: { parallel_tool_calls: false }, beside: withTool },
  { asks: '`response_format: json_object`', fields: { response_format: { type: 'json_object' } } },
  {
    asks: '`response_format: json_schema`',
    fields: { response_format: { type: 'json_schema', json_schema: { name: 'it', schema, strict: true } } },
  },
  {
    asks: 'a `response_format` together with `tools`',
    fields: { response_format: { type: 'json_schema', json_schema: { name: 'it', schema, strict: true } } },
    beside: withTool,
  },
  {
    asks: 'an image, as a `data:` URL',
    fields: withPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
  },
  {
    asks: 'an image by its address',
    fields: withPart({ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }),
  },
  { asks: 'audio', fields: withPart({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }) },
  {
    asks: 'a file, as a `data:` URL',
    fields: withPart({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }),
  },
  { asks: 'a file that was uploaded (`file_id`)', fields: withPart({ type: 'file', file: { file_id: 'file-1' } }) },
  {
    asks: '`cache_control` on a part',
    fields: withPart({ type: 'text', text: '!', cache_control: { type: 'ephemeral' } }),
    beside: withPart({ type: 'text', text: '!' }),
  },
  { asks: '`name` of a message', fields: { messages: [{ ...PROMPT, name: 'ann' }] } },
  { asks: '`user`', fields: { user: 'u-1' } },
];

/** A model of an adapter with which features are tried. */
export interface Probed {
  readonly adapter: WireAdapter & { lacks?(model: ModelTraits, upstream: string): readonly string[] };
  readonly upstream: string;
  readonly model: ModelTraits;
}

/** Returns the capabilities that a request needs because of this feature. */
export function neededBy({ fields, beside }: Probe): Capability[] {
  const needs = (request: Partial<ChatRequest>) => profile({ messages: [PROMPT], ...request }).needs;
  return capabilityNames(needs({ ...beside, ...fields }) & ~needs({ ...beside }));
}

/**
 * Returns the outcome for the adapter: sent unchanged, translated to its dialect, dropped, done by the gateway, or not sent because a
 * capability is missing.
 */
export function madeOf(probe: Probe, { adapter, upstream, model }: Probed): string {
  const lacks = adapter.lacks?.(model, upstream) ?? [];
  const has = (name: Capability) => CAPABILITIES[name].of !== 'model' || model.capabilities.includes(name);
  if (neededBy(probe).some((name) => lacks.includes(name) || !has(name))) return 'no';
  if (probe.fields.stop && lacks.includes('stop')) return 'done here';
  const request = (fields: Partial<ChatRequest>) => ({ messages: [PROMPT], ...probe.beside, ...fields });
  const ask = (fields: Partial<ChatRequest>) =>
    adapter.request(providerCall(request(fields), { upstream, model, stream: false }));
  const [plain, asked] = [ask({}), ask(probe.fields)];
  if (!('body' in plain)) throw new Error(`${probe.asks}: ${plain.message}`);
  if (!('body' in asked)) return 'refused';
  const changes = differences(JSON.parse(plain.body), JSON.parse(asked.body));
  if (changes.length === 0) return 'dropped';
  return Bun.deepEquals(changes, differences(request({}), request(probe.fields))) ? 'sent' : 'translated';
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the members that only the second request has, as paths with their values. */
function differences(plain: unknown, asked: unknown, path = ''): string[] {
  if (Bun.deepEquals(plain, asked)) return [];
  if (isObject(plain) && isObject(asked)) {
    const inside = (key: string) => (path === '' ? key : `${path}.${key}`);
    return Object.keys(asked).flatMap((key) => differences(plain[key], asked[key], inside(key)));
  }
  if (Array.isArray(plain) && Array.isArray(asked)) {
    if (plain.length === asked.length)
      return asked.flatMap((item, at) => differences(plain[at], item, `${path}[${at}]`));
    return asked
      .filter((item) => !plain.some((one) => Bun.deepEquals(one, item)))
      .map((item) => shown(`${path}[…]`, item));
  }
  return [shown(path, asked)];
}

const shown = (path: string, value: unknown): string => `${path}: ${JSON.stringify(value)}`;
