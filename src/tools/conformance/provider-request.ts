import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { ProviderFailure } from '../../contract/parts.ts';
import type { HttpCall, ProviderCall, ProviderPreset, WireAdapter } from '../../contract/provider.ts';
import { CAPABILITY_NAMES, type Capability } from '../../core/capability.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { parseJson } from '../../core/object.ts';
import { deepFreeze } from '../../policy/freeze.ts';
import { calls, copyOfCall, describeCall, frozenCall, plainCalls, plainOf, traits, upstreams } from './calls.ts';
import type { ConformanceHost } from './host.ts';
import { isEqual, type Law, law, quote, shortJson } from './law.ts';
import { adapterLaw, type ProviderSubject, presetSettings, settingsFor, wireLaw } from './provider-subject.ts';
import { defaultsOf, optionsLaw } from './schema-values.ts';
import { CANARY, repeatFault, runSealed } from './sealed.ts';

const settings = optionsLaw<ProviderSubject>({
  name: 'settings',
  says: '`prepare` accepts the default settings and those of presets; if it refuses others that the schema allows, its error gives a reason',
  cases: settingsFor,
  prepare: ({ plugin }, given) => plugin.prepare(given),
  own: ({ plugin }) => [defaultsOf(plugin.settings), ...presetsOf(plugin).map((one) => presetSettings(plugin, one))],
  ownWords: 'what it states itself',
});

const presetsOf = ({ presets }: ProviderSubject['plugin']): ProviderPreset[] => Object.values(presets ?? {});

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function presetFault(plugin: ProviderSubject['plugin'], preset: ProviderPreset): string | null {
  const { baseUrl, baseUrlEnv, basePath, apiKeyEnv, cache, passthrough } = preset;
  if (baseUrl !== undefined) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
    const isPlain = url && !url.username && !url.password && !url.search && !url.hash && /^https?:$/.test(url.protocol);
    if (!isPlain) return `its baseUrl ${quote(baseUrl)} is no plain http or https address`;
  }
  for (const [name, variable] of Object.entries({ baseUrlEnv, apiKeyEnv })) {
    if (variable !== undefined && !VARIABLE.test(variable))
      return `its ${name} ${quote(variable)} is no name of a variable`;
  }
  if (basePath !== undefined && !/^\/[\w./-]*$/.test(basePath)) return `its basePath ${quote(basePath)} is no path`;
  if (cache && !(cache.ttlS >= 0 && cache.tokensMin >= 0)) return `its cache is ${shortJson(cache)}`;
  if (passthrough?.includes('*'))
    return 'its passthrough lets every field through, those that change the bill among them';
  const set = presetSettings(plugin, preset);
  return Value.Check(plugin.settings, set)
    ? null
    : `its settings ${shortJson(set)} do not fit the schema of the adapter`;
}

const presets: Law<ProviderSubject> = law({
  name: 'presets',
  says: 'each preset has a plain address, names of variables, and settings that fit the schema',
  cases: ({ plugin }) =>
    presetsOf(plugin).length > 0 ? fc.constantFrom(...Object.entries(plugin.presets ?? {})) : null,
  fault: ({ plugin }, [, preset]) => presetFault(plugin, preset),
  describe: ([name]) => `the preset \`${name}\``,
});

const KEY = 'key-of-the-suite';

const form = wireLaw({
  name: 'form',
  says: 'it declares a dialect, a framing and, unless its service has no keys, a header for the key',
  cases: () => fc.constant(null),
  fault(adapter, _, { host, plugin }) {
    if (!/^[a-z0-9][a-z0-9_-]*$/i.test(adapter.dialect))
      return `its dialect is ${shortJson(adapter.dialect)}: one word`;
    if (adapter.frames !== 'sse' && adapter.frames !== 'ndjson')
      return `its frames are ${shortJson(adapter.frames)}: sse or ndjson`;
    if (!adapter.auth) {
      const isKeyed = presetsOf(plugin).some(({ apiKeyEnv }) => apiKeyEnv !== undefined);
      return isKeyed ? 'it has no `auth`, and a preset names a variable for the key' : null;
    }
    const { header, prefix } = adapter.auth;
    try {
      const got = host.headers(adapter, {}, KEY).get(header);
      return got === (prefix + KEY).trim() ? null : `the key does not arrive in the header ${quote(header)}`;
    } catch {
      return `no key can go into the header ${quote(header)}`;
    }
  },
  describe: () => 'the adapter as it is prepared',
});

const lacks = adapterLaw({
  name: 'lacks',
  says: '`lacks` names known capabilities, the same ones each time',
  cases: () => fc.record({ model: traits, upstream: upstreams }),
  fault(adapter, { model, upstream }) {
    if (!adapter.lacks) return null;
    const lacking: readonly string[] = adapter.lacks(deepFreeze(structuredClone(model)), upstream);
    const unknown = lacking.find((name) => !CAPABILITY_NAMES.some((known) => known === name));
    if (unknown !== undefined) return `it lacks ${quote(unknown)}; there are ${CAPABILITY_NAMES.join(', ')}`;
    return isEqual(lacking, adapter.lacks(model, upstream)) ? null : 'asked twice it tells two things';
  },
  describe: ({ model, upstream }) => `the model \`${upstream}\` with ${shortJson(model)}`,
});

/** Policies can state any address with a path. */
const BASE = 'https://provider.example/base/v1';

function pathFault(path: unknown): string | null {
  if (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path))
    return `its path is ${shortJson(path)}: it begins with \`/\` and has no blanks; encode what stands in it`;
  if (path.includes('#')) return `its path ${quote(path)} has a \`#\`, and nothing behind it is sent`;
  const url = URL.canParse(BASE + path) ? new URL(BASE + path) : null;
  const isBelow = url?.host === 'provider.example' && url.pathname.startsWith('/base/v1/');
  return isBelow ? null : `its path ${quote(path)} leads out of the provider's address`;
}

function headersFault(adapter: WireAdapter, own: unknown, host: ConformanceHost): string | null {
  if (typeof own !== 'object' || own === null) return 'it gives no headers: an empty object for none';
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (typeof value !== 'string') return `its header ${quote(name)} is ${shortJson(value)}, no text`;
    texts[name] = value;
  }
  const out = host.headers(adapter, texts, null);
  const left = Object.keys(texts).find((name) => !out.has(name));
  return left === undefined
    ? null
    : `its header ${quote(left)} is not among those that go out: the gateway leaves it away`;
}

/** The fault of an HTTP request; null if it is valid. */
function httpFault(adapter: WireAdapter, call: HttpCall, host: ConformanceHost): string | null {
  const { path, headers, body, dropped } = call;
  const fault = pathFault(path) ?? headersFault(adapter, headers, host);
  if (fault) return fault;
  if (typeof body !== 'string') return 'its body is no text: use JSON.stringify';
  if (parseJson(body) === undefined) return `its body is no JSON: ${quote(body)}`;
  const isList = Array.isArray(dropped) && dropped.every((name) => typeof name === 'string' && name !== '');
  return isList ? null : `\`dropped\` is ${shortJson(dropped)}: a list of the names of fields, empty for none`;
}

/** The fault of what an adapter makes of a call; null if it is valid. */
function madeFault(adapter: WireAdapter, made: HttpCall | ProviderFailure, host: ConformanceHost): string | null {
  if (!('kind' in made)) return httpFault(adapter, made, host);
  if (made.kind !== 'rejected')
    return `in place of a request it gives a failure of kind ${shortJson(made.kind)}, not \`rejected\``;
  return typeof made.message === 'string' && made.message !== '' ? null : 'it rejects, and does not say what';
}

/** Makes a law about the calls of an adapter: any that the gateway admits, unless it names others. */
const callLaw = ({ calls: tried = calls, ...text }: CallLawText): Law<ProviderSubject> =>
  wireLaw<ProviderCall>({ ...text, cases: () => tried, describe: describeCall });

type CallLawText = Omit<Parameters<typeof wireLaw<ProviderCall>>[0], 'cases' | 'describe'> & {
  readonly calls?: fc.Arbitrary<ProviderCall>;
};

const request = callLaw({
  name: 'request',
  says: 'any admitted request becomes a path, headers and JSON, or a `rejected` with a reason; nothing throws',
  fault: (adapter, call, { host }) => madeFault(adapter, adapter.request(frozenCall(call)), host),
});

const pure = callLaw({
  name: 'pure',
  says: 'the same call becomes the same request, without clock, randomness or environment, and the call is not changed',
  fault(adapter, call) {
    const given = copyOfCall(call);
    adapter.request(given);
    if (!isEqual(plainOf(given), plainOf(call))) return 'it changes the call that it is given';
    return repeatFault(
      () => adapter.request(copyOfCall(call)),
      (first, again) => `it gives ${shortJson(first)}, and then ${shortJson(again)}`,
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
    if (own !== undefined) return `it sets the header ${quote(own)}, which is the gateway's to set`;
    const places = { path: made.path, body: made.body, headers: JSON.stringify(made.headers) };
    const [where] = Object.entries(places).find(([, text]) => text.includes(CANARY)) ?? [];
    return where ? `what a variable of the environment holds stands in its ${where}` : null;
  },
});

/** Whether a number occurs anywhere in a JSON value. */
function has(value: unknown, figure: number): boolean {
  if (value === figure) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some((member) => has(member, figure));
}

const capped = callLaw({
  name: 'output-cap',
  says: 'every request contains `outputCap`, because the hold relies on it',
  calls: fc.oneof(plainCalls, calls),
  fault(adapter, call) {
    const made = adapter.request(call);
    if ('kind' in made || has(parseJson(made.body), call.outputCap)) return null;
    return `no figure of its body is the cap of ${call.outputCap} tokens: ${quote(made.body)}`;
  },
});

const isFigure = (figure: unknown): boolean => typeof figure === 'number' && figure >= 0 && Number.isFinite(figure);

const counted = callLaw({
  name: 'token-count',
  says: 'a count of tokens is asked for as an answer is: by a path, headers and JSON, the same ones for the same call; its margin is of figures from 0',
  fault(adapter, call, { host }) {
    const { tokenCount } = adapter;
    if (!tokenCount) return null;
    const { margin } = tokenCount;
    if (margin && !(isFigure(margin.tokens) && isFigure(margin.share)))
      return `its margin is ${shortJson(margin)}: \`tokens\` and \`share\`, from 0`;
    const asked = () => tokenCount.request(frozenCall(call));
    return (
      repeatFault(asked, (first, again) => `it asks ${shortJson(first)}, and then ${shortJson(again)}`) ??
      madeFault(adapter, asked(), host)
    );
  },
});

/** Fields of a chat request. */
type Members = Readonly<Record<string, unknown>>;

const TOOLS: Members = { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] };
const SCHEMA = { name: 'answer', schema: { type: 'object', properties: { yes: { type: 'boolean' } } } };

/** Fields with an effect that no service has by default: capabilities needed, rest of the request, field. */
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
    return `\`${field}\` changes nothing of the request: name it in \`dropped\`${capability ? `, or \`${capability}\` in \`lacks\`` : ''}`;
  },
  describe: ({ call }) => describeCall(call),
});

/** Laws of every provider about its settings. */
export const PREPARED_LAWS: readonly Law<ProviderSubject>[] = [settings, presets, lacks];

/** Laws of every adapter about requests. */
export const REQUEST_LAWS: readonly Law<ProviderSubject>[] = [form, request, pure, keyless, capped, counted, heard];
