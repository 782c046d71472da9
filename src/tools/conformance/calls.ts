import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { ModelTraits, ProviderCall } from '../../contract/provider.ts';
import { ChatRequest } from '../../core/api/chat-request.ts';
import {
  CAPABILITY_NAMES,
  capabilityNames,
  MODEL_CAPABILITIES,
  OF_EVERY_DIALECT,
} from '../../core/request/capability.ts';
import { toRead } from '../../core/schema/nullable.ts';
import { readChatRequest } from '../../dialects/openai-chat/reader.ts';
import { deepFreeze } from '../../policy/report/freeze.ts';
import { anyRequest } from './requests.ts';

/** Model names of providers. */
export const upstreams = fc.constantFrom('model-1', 'vendor/model-2.5:free', 'Model_3@20261120', 'models/four');

export const traits: fc.Arbitrary<ModelTraits> = fc.record({
  capabilities: fc.subarray([...MODEL_CAPABILITIES]),
  lacks: fc.subarray(capabilityNames(OF_EVERY_DIALECT)),
  acceptsTemperature: fc.boolean(),
  ttftMs: fc.constantFrom(0, 1, 500),
  outputTokensPerSecond: fc.constantFrom(1, 100, 100_000),
});

/** State of another provider, which the tested adapter must ignore. */
const NO_STATE = { ofMessage: fc.constant({}), ofCall: () => ({}) };

/** Values that occur nowhere else in a request, so that a law can find them in its body. */
const caps = fc.integer({ min: 20_011, max: 29_989 });

/** Any request that the gateway accepts, in the form in which an adapter receives it. */
export const calls: fc.Arbitrary<ProviderCall> = fc
  .record({
    upstream: upstreams,
    body: anyRequest(NO_STATE)
      .filter((request) => Value.Check(ChatRequest, request))
      .map(toRead(ChatRequest)),
    extras: fc.constantFrom({}, {}, { top_k: 5 }),
    stream: fc.boolean(),
    outputCap: caps,
    model: traits,
  })
  // JSON has no undefined members.
  .map(({ body, ...call }) => ({
    ...call,
    request: readChatRequest(structuredClone({ ...body, stream: call.stream })),
  }));

/** Plain questions, which every model accepts. */
export const plainCalls: fc.Arbitrary<ProviderCall> = fc
  .record({
    text: fc.constantFrom('Hello!', 'Grüezi 💡', 'One\n\ntwo'),
    stream: fc.boolean(),
    outputCap: caps,
    upstream: upstreams,
  })
  .map(({ text, stream, outputCap, upstream }) => ({
    upstream,
    request: readChatRequest({ model: 'any', messages: [{ role: 'user', content: text }], stream }),
    extras: {},
    stream,
    outputCap,
    model: {
      capabilities: [...CAPABILITY_NAMES],
      lacks: [],
      acceptsTemperature: true,
      ttftMs: 1,
      outputTokensPerSecond: 100_000,
    },
  }));

/** Copies a call without sharing any object with the original. */
export const copyOfCall = ({ request, model, ...rest }: ProviderCall): ProviderCall => ({
  ...structuredClone(rest),
  model: structuredClone(model),
  request: request.edit(
    Object.entries(request.original.body).map(([name, value]) => ({ at: [name], value: structuredClone(value) })),
  ),
});

/** Everything that an adapter can read from a call, as plain data. */
export const plainOf = ({ request, ...rest }: ProviderCall) => {
  const { conversation, settings, routing, extras, original } = request;
  return { ...rest, request: { conversation, settings, routing, extras, original } };
};

/** Copies a call into frozen objects, which throw when an adapter writes to them. */
export function frozenCall(call: ProviderCall): ProviderCall {
  const copy = copyOfCall(call);
  deepFreeze(plainOf(copy));
  return copy;
}

/** Describes a call in words, for reports. */
export function describeCall({ upstream, request, extras, stream, outputCap, model }: ProviderCall): string {
  const { model: _, stream: __, ...rest } = request.original.body;
  const more = Object.keys(extras).length > 0 ? ` with the extras ${JSON.stringify(extras)}` : '';
  const can = model.capabilities.length > 0 ? ` that has ${model.capabilities.join(', ')}` : '';
  const cannot = model.acceptsTemperature ? '' : ' and accepts no temperature';
  const how = `${stream ? 'streamed' : 'not streamed'}, at most ${outputCap} tokens`;
  return `of \`${upstream}\`${can}${cannot}, ${how}${more}: ${JSON.stringify(rest)}`;
}
