import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { ProviderFailure } from '../../contract/parts.ts';
import type { HttpCall, ProviderCall, ProviderPreset, WireAdapter } from '../../contract/provider.ts';
import { parseJson } from '../../core/json/object.ts';
import { CAPABILITY_NAMES, type Capability } from '../../core/request/capability.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { deepFreeze } from '../../policy/report/freeze.ts';
import { calls, copyOfCall, describeCall, frozenCall, plainCalls, plainOf, traits, upstreams } from './calls.ts';
import type { ConformanceHost } from './host.ts';
import { isEqual, type Law, law, quote, shortJson } from './law.ts';
import { adapterLaw, type ProviderSubject, presetSettings, settingsFor, wireLaw } from './provider-subject.ts';
import { defaultsOf, optionsLaw } from './schema-values.ts';
import { CANARY, repeatFault, runSealed } from './sealed.ts';

const settings = optionsLaw<ProviderSubject>({
  name: 'settings',
  says: '`prepare` accepts the default settings and the settings of presets; if it refuses others that the schema allows, its error gives a reason',
  cases: settingsFor,
  prepare: ({ plugin }, given) => plugin.prepare(given),
  own: ({ plugin }) => [defaultsOf(plugin.settings), ...presetsOf(plugin).map((one) => presetSettings(plugin, one))],
  ownWords: 'its own settings',
});

const presetsOf = ({ presets }: ProviderSubject['plugin']): ProviderPreset[] => Object.values(presets ?? {});

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function presetFault(plugin: ProviderSubject['plugin'], preset: ProviderPreset): string | null {
  const { baseUrl, baseUrlEnv, basePath, apiKeyEnv, cache, passthrough } = preset;
  if (baseUrl !== undefined) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
    const isPlain = url && !url.username && !url.password && !url.search && !url.hash && /^https?:$/.test(url.protocol);
    if (!isPlain) return `the baseUrl ${quote(baseUrl)} must be a plain http or https address`;
  }
  for (const [name, variable] of Object.entries({ baseUrlEnv, apiKeyEnv })) {
    if (variable !== undefined && !VARIABLE.test(variable))
      return `the ${name} ${quote(variable)} must be the name of an environment variable`;
  }
  if (basePath !== undefined && !/^\/[\w./-]*$/.test(basePath))
    return `the basePath ${quote(basePath)} must be a path such as /v1`;
  if (cache && !(cache.ttlS >= 0 && cache.tokensMin >= 0))
    return `the cache is ${shortJson(cache)}; its numbers must be from 0`;
  if (passthrough?.includes('*'))
    return 'the passthrough lets every field through, including fields that change the bill';
  const set = presetSettings(plugin, preset);
  return Value.Check(plugin.settings, set)
    ? null
    : `the settings ${shortJson(set)} do not match the schema of the adapter`;
}

const presets: Law<ProviderSubject> = law({
  name: 'presets',
  says: 'each preset has a plain address, valid names of variables, and settings that match the schema',
  cases: ({ plugin }) =>
    presetsOf(plugin).length > 0 ? fc.constantFrom(...Object.entries(plugin.presets ?? {})) : null,
  fault: ({ plugin }, [, preset]) => presetFault(plugin, preset),
  describe: ([name]) => `the preset \`${name}\``,
});

const KEY = 'key-of-the-suite';

const form = wireLaw({
  name: 'form',
  says: 'the adapter declares a dialect, a framing and, unless its service has no keys, a header for the key',
  cases: () => fc.constant(null),
  fault(adapter, _, { host, plugin }) {
    if (!/^[a-z0-9][a-z0-9_-]*$/i.test(adapter.dialect))
      return `the dialect is ${shortJson(adapter.dialect)}; it must be one word`;
    if (adapter.frames !== 'sse' && adapter.frames !== 'ndjson')
      return `the frames are ${shortJson(adapter.frames)}; they must be sse or ndjson`;
    if (!adapter.auth) {
      const isKeyed = presetsOf(plugin).some(({ apiKeyEnv }) => apiKeyEnv !== undefined);
      return isKeyed ? 'the adapter has no `auth`, although a preset names a variable for the key' : null;
    }
    const { header, prefix } = adapter.auth;
    try {
      const got = host.headers(adapter, {}, KEY).get(header);
      return got === (prefix + KEY).trim() ? null : `the key is missing in the header ${quote(header)}`;
    } catch {
      return `the header ${quote(header)} cannot contain a key`;
    }
  },
  describe: () => 'the prepared adapter',
});

const lacks = adapterLaw({
  name: 'lacks',
  says: '`lacks` returns known capabilities, and always the same ones',
  cases: () => fc.record({ model: traits, upstream: upstreams }),
  fault(adapter, { model, upstream }) {
    if (!adapter.lacks) return null;
    const lacking: readonly string[] = adapter.lacks(deepFreeze(structuredClone(model)), upstream);
    const unknown = lacking.find((name) => !CAPABILITY_NAMES.some((known) => known === name));
    if (unknown !== undefined)
      return `\`lacks\` returns the unknown capability ${quote(unknown)}; the capabilities are ${CAPABILITY_NAMES.join(', ')}`;
    return isEqual(lacking, adapter.lacks(model, upstream))
      ? null
      : 'two identical calls of `lacks` return different lists';
  },
  describe: ({ model, upstream }) => `the model \`${upstream}\` with ${shortJson(model)}`,
});

/** A policy can state any address with a path. */
const BASE = 'https://provider.example/base/v1';

function pathFault(path: unknown): string | null {
  if (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path))
    return `the path is ${shortJson(path)}; it must begin with \`/\` and contain no blanks: encode its values`;
  if (path.includes('#')) return `the path ${quote(path)} has a \`#\`, and the text after it is never sent`;
  const url = URL.canParse(BASE + path) ? new URL(BASE + path) : null;
  const isBelow = url?.host === 'provider.example' && url.pathname.startsWith('/base/v1/');
  return isBelow ? null : `the path ${quote(path)} leads outside of the provider's address`;
}

function headersFault(adapter: WireAdapter, own: unknown, host: ConformanceHost): string | null {
  if (typeof own !== 'object' || own === null) return 'the adapter returns no headers; return an empty object for none';
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (typeof value !== 'string') return `the header ${quote(name)} is ${shortJson(value)}; it must be a text`;
    texts[name] = value;
  }
  const out = host.headers(adapter, texts, null);
  const left = Object.keys(texts).find((name) => !out.has(name));
  return left === undefined ? null : `the header ${quote(left)} is not allowed, so the gateway does not send it`;
}

/** The fault of an HTTP request; null if it is valid. */
function httpFault(adapter: WireAdapter, call: HttpCall, host: ConformanceHost): string | null {
  const { path, headers, body, dropped } = call;
  const fault = pathFault(path) ?? headersFault(adapter, headers, host);
  if (fault) return fault;
  if (typeof body !== 'string') return 'the body is not a text: use JSON.stringify';
  if (parseJson(body) === undefined) return `the body is not JSON: ${quote(body)}`;
  const isList = Array.isArray(dropped) && dropped.every((name) => typeof name === 'string' && name !== '');
  return isList ? null : `\`dropped\` is ${shortJson(dropped)}; it must be a list of field names, empty for none`;
}

/** Finds the fault in what an adapter makes of a call; null if it is valid. */
function madeFault(adapter: WireAdapter, made: HttpCall | ProviderFailure, host: ConformanceHost): string | null {
  if (!('kind' in made)) return httpFault(adapter, made, host);
  if (made.kind !== 'rejected')
    return `instead of a request, the adapter returns a failure of the kind ${shortJson(made.kind)}; only \`rejected\` is allowed`;
  return typeof made.message === 'string' && made.message !== ''
    ? null
    : 'the adapter rejects the call without a reason';
}

/** Makes a law about the calls of an adapter. The law tries any call that the gateway accepts, unless the law names other calls. */
const callLaw = ({ calls: tried = calls, ...text }: CallLawText): Law<ProviderSubject> =>
  wireLaw<ProviderCall>({ ...text, cases: () => tried, describe: describeCall });

type CallLawText = Omit<Parameters<typeof wireLaw<ProviderCall>>[0], 'cases' | 'describe'> & {
  readonly calls?: fc.Arbitrary<ProviderCall>;
};

const request = callLaw({
  name: 'request',
  says: 'any accepted request becomes a path, headers and JSON, or a `rejected` with a reason; nothing throws',
  fault: (adapter, call, { host }) => madeFault(adapter, adapter.request(frozenCall(call)), host),
});

const pure = callLaw({
  name: 'pure',
  says: 'the same call becomes the same request, independent of clock, randomness and environment, and the call is not changed',
  fault(adapter, call) {
    const given = copyOfCall(call);
    adapter.request(given);
    if (!isEqual(plainOf(given), plainOf(call))) return 'the adapter changes the call that it receives';
    return repeatFault(
      () => adapter.request(copyOfCall(call)),
      (first, again) => `the adapter returns ${shortJson(first)}, and then ${shortJson(again)}`,
    );
  },
});

const keyless = callLaw({
  name: 'key',
  says: 'path, body and headers contain no key: the gateway adds it as `auth` declares',
  calls: plainCalls,
  fault(adapter, call) {
    const { value: made } = runSealed(() => adapter.request(call));
    if ('kind' in made) return null;
    const header = adapter.auth?.header.toLowerCase();
    const own = Object.keys(made.headers).find((name) => name.toLowerCase() === header);
    if (own !== undefined) return `the adapter sets the header ${quote(own)}, which only the gateway may set`;
    const places = { path: made.path, body: made.body, headers: JSON.stringify(made.headers) };
    const [where] = Object.entries(places).find(([, text]) => text.includes(CANARY)) ?? [];
    return where ? `the ${where} contains the value of an environment variable` : null;
  },
});

/** Whether a number occurs anywhere in a JSON value. */
function has(value: unknown, figure: number): boolean {
  if (value === figure) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some((member) => has(member, figure));
}

const capped = callLaw({
  name: 'output-cap',
  says: 'every request contains `outputCap`, because the hold relies on the cap',
  calls: fc.oneof(plainCalls, calls),
  fault(adapter, call) {
    const made = adapter.request(call);
    if ('kind' in made || has(parseJson(made.body), call.outputCap)) return null;
    return `no number in the body is the cap of ${call.outputCap} tokens: ${quote(made.body)}`;
  },
});

const isFigure = (figure: unknown): boolean => typeof figure === 'number' && figure >= 0 && Number.isFinite(figure);

const counted = callLaw({
  name: 'token-count',
  says: 'a request to count tokens has a path, headers and JSON, and is always the same for the same call; the numbers of its margin are from 0',
  fault(adapter, call, { host }) {
    const { tokenCount } = adapter;
    if (!tokenCount) return null;
    const { margin } = tokenCount;
    if (margin && !(isFigure(margin.tokens) && isFigure(margin.share)))
      return `the margin is ${shortJson(margin)}; it needs \`tokens\` and \`share\`, both from 0`;
    const asked = () => tokenCount.request(frozenCall(call));
    return (
      repeatFault(asked, (first, again) => `the adapter requests ${shortJson(first)}, and then ${shortJson(again)}`) ??
      madeFault(adapter, asked(), host)
    );
  },
});

/** Fields of a chat request. */
type Members = Readonly<Record<string, unknown>>;

const TOOLS: Members = { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] };
const SCHEMA = { name: 'answer', schema: { type: 'object', properties: { yes: { type: 'boolean' } } } };

/** Fields with an effect that no service has by default. Each entry has the capabilities needed, the rest of the request, and the field. */
const REQUESTED_FIELDS: readonly (readonly [readonly Capability[], Members, Members])[] = [
  [[], {}, { temperature: 0.375 }],
  [[], {}, { top_p: 0.375 }],
  [['tools'], {}, TOOLS],
  [['tools', 'forced_tools'], TOOLS, { tool_choice: 'required' }],
  [['json_schema'], {}, { response_format: { type: 'json_schema', json_schema: SCHEMA } }],
  [['json_mode'], {}, { response_format: { type: 'json_object' } }],
  [['choices'], {}, { n: 2 }],
  [['logprobs'], {}, { logprobs: true }],
  [['seed'], {}, { seed: 7 }],
  [['penalties'], {}, { presence_penalty: 0.375 }],
  [['penalties'], {}, { frequency_penalty: 0.375 }],
  [['logit_bias'], {}, { logit_bias: { '7': -100 } }],
  [['stop'], {}, { stop: ['END'] }],
];

interface FieldCase {
  readonly needs: readonly Capability[];
  readonly without: ProviderCall;
  readonly call: ProviderCall;
}

const fieldCases: fc.Arbitrary<FieldCase> = fc
  .tuple(plainCalls, fc.constantFrom(...REQUESTED_FIELDS))
  .map(([plain, [needs, beside, field]]) => {
    const withFields = (request: ModelRequest, fields: Members): ModelRequest =>
      request.edit(Object.entries(fields).map(([name, value]) => ({ at: [name], value })));
    const without = { ...plain, request: withFields(plain.request, beside) };
    return { needs, without, call: { ...without, request: withFields(without.request, field) } };
  });

const heard = wireLaw<FieldCase>({
  name: 'heard',
  says: 'every requested feature is sent, or reported by `lacks`, in `dropped` or by a `rejected`',
  cases: () => fieldCases,
  fault(adapter, { needs, without, call }) {
    const lacking = adapter.lacks?.(call.model, call.upstream) ?? [];
    if (needs.some((one) => lacking.includes(one))) return null;
    const [made, plain] = [adapter.request(call), adapter.request(without)];
    if ('kind' in made || 'kind' in plain || !isEqual(made, plain)) return null;
    const field = Object.keys(call.request.original.body).find((key) => !(key in without.request.original.body));
    const capability = needs.at(-1);
    return `\`${field}\` has no effect on the request: name it in \`dropped\`${capability ? `, or \`${capability}\` in \`lacks\`` : ''}`;
  },
  describe: ({ call }) => describeCall(call),
});

/** The laws about settings, for every provider. */
export const PREPARED_LAWS: readonly Law<ProviderSubject>[] = [settings, presets, lacks];

/** The laws about requests, for every adapter. */
export const REQUEST_LAWS: readonly Law<ProviderSubject>[] = [form, request, pure, keyless, capped, counted, heard];
