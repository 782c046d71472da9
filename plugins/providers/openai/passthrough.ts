import { type HttpCall, isWrappedState, type Members, type ProviderCall, type ProviderFailure } from 'signalbox/plugin';
import { isObject, listOf, objectOf, parseJson, textOf } from '../json.ts';
import { effortFor } from './models.ts';

/** The dialect of requests that go out as they came. */
export const RESPONSES = 'openai-responses';

/** Fields for Signalbox alone. */
const OWN: ReadonlySet<string> = new Set(['budget_limit', 'route_strategy', 'constraints', 'agent_wallet']);

const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * Sends a request of the API's own dialect as it came. Changed is only what routing, money and the missing store need: the
 * model, the cap, the stream, fields of Signalbox, what the chosen model does not take, and reasoning that the service
 * could not find or read.
 */
export function passedRequest(call: ProviderCall): HttpCall {
  const { request, upstream, outputCap, model } = call;
  const { input, include, reasoning, temperature, top_p, ...others }: Members = request.original.body;
  const dropped: string[] = [];
  const kept = Object.entries(others).filter(([name]) => !OWN.has(name) && !OF_STREAM.has(name));
  const reasons = model.capabilities.includes('reasoning');
  const sampling = { ...(temperature !== undefined && { temperature }), ...(top_p !== undefined && { top_p }) };
  if (!model.acceptsTemperature) dropped.push(...Object.keys(sampling));
  if (!reasons && reasoning !== undefined) dropped.push('reasoning');
  const included = listOf(include);
  const body = {
    ...Object.fromEntries(kept),
    model: upstream,
    input: Array.isArray(input) ? inputOf(input, dropped) : input,
    ...(reasons && reasoning !== undefined && { reasoning: withEffort(reasoning, upstream) }),
    ...(model.acceptsTemperature && sampling),
    max_output_tokens: outputCap,
    store: false,
    ...(reasons
      ? { include: included.includes(ENCRYPTED) ? included : [...included, ENCRYPTED] }
      : included.length > 0 && { include: included }),
    ...(call.stream && streamFields(others)),
  };
  return {
    path: '/responses',
    headers: request.headers.passed,
    body: JSON.stringify(body),
    dropped,
    passthrough: true,
  };
}

const OF_STREAM: ReadonlySet<string> = new Set(['stream', 'stream_options']);

/** `include_usage` is a member of chat completions, which clients of both send. */
function streamFields({ stream_options: options }: Members): Members {
  const { include_usage: _, ...rest } = objectOf(options);
  return { stream: true, ...(Object.keys(rest).length > 0 && { stream_options: rest }) };
}

/** The model was chosen here, so its nearest effort is, too. */
function withEffort(reasoning: unknown, upstream: string): unknown {
  if (!isObject(reasoning)) return reasoning;
  const requested = textOf(reasoning.effort);
  const effort = requested === '' ? undefined : effortFor(upstream, requested, 'responses');
  return effort === undefined || effort === requested ? reasoning : { ...reasoning, effort };
}

/** Leaves out the reasoning of other models, and reasoning without its content, as nothing is stored. */
function inputOf(input: readonly unknown[], dropped: string[]): readonly unknown[] {
  const isReadable = (item: unknown): boolean => {
    if (!isObject(item) || item.type !== 'reasoning') return true;
    const content = textOf(item.encrypted_content);
    return content !== '' && !isWrappedState(content);
  };
  if (input.every(isReadable)) return input;
  for (const [at, item] of input.entries()) if (!isReadable(item)) dropped.push(`input[${at}]`);
  return input.filter(isReadable);
}

/** Adds the service's own words to a refusal of a request that went out as it came. */
export function withOriginal(failure: ProviderFailure, body: string, passthrough = false): ProviderFailure {
  const original = passthrough && (failure.kind === 'rejected' || failure.kind === 'context') ? parseJson(body) : null;
  return isObject(original) ? { ...failure, original } : failure;
}
