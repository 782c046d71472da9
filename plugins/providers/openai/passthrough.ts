import { type HttpCall, isWrappedState, type Members, type ProviderCall, type ProviderFailure } from 'signalbox/plugin';
import { isObject, listOf, objectOf, parseJson, textOf } from '../json.ts';
import { effortFor } from './models.ts';

/** The dialect of requests that go out as they came. */
export const RESPONSES = 'openai-responses';

/** Fields for Signalbox alone, and those of streams. JSON has no member that is undefined. */
const LEFT_OUT = {
  budget_limit: undefined,
  route_strategy: undefined,
  constraints: undefined,
  agent_wallet: undefined,
  stream: undefined,
  stream_options: undefined,
};

const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * Sends a request of the API's own dialect as it came. Changed is only what routing, money and the missing store need: the
 * model, the cap, the stream, fields of Signalbox, what the chosen model does not take, and reasoning that the service
 * could not find or read.
 */
export function passedRequest(call: ProviderCall): HttpCall {
  const { request, upstream, outputCap, model } = call;
  const original: Members = request.original.body;
  const include = listOf(original.include);
  const dropped: string[] = [];
  const body: Record<string, unknown> = {
    ...original,
    ...LEFT_OUT,
    model: upstream,
    max_output_tokens: outputCap,
    store: false,
    ...(call.stream && streamFields(original)),
  };
  if (!model.acceptsTemperature) {
    leaveOut('temperature', body, dropped);
    leaveOut('top_p', body, dropped);
  }
  if (model.capabilities.includes('reasoning')) {
    body.reasoning = withEffort(original.reasoning, upstream);
    body.include = include.includes(ENCRYPTED) ? include : [...include, ENCRYPTED];
  } else {
    leaveOut('reasoning', body, dropped);
    body.include = include.length > 0 ? include : undefined;
  }
  if (Array.isArray(original.input)) body.input = inputOf(original.input, dropped);
  return {
    path: '/responses',
    headers: request.headers.passed,
    body: JSON.stringify(body),
    dropped,
    passthrough: true,
  };
}

function leaveOut(name: string, body: Record<string, unknown>, dropped: string[]): void {
  if (body[name] === undefined) return;
  body[name] = undefined;
  dropped.push(name);
}

/** A stream with its options. `include_usage` is a member of chat completions, which clients of both send. */
export function streamFields({ stream_options: options }: Members): Members {
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
  if (input.every(isReadable)) return input;
  for (const [at, item] of input.entries()) if (!isReadable(item)) dropped.push(`input[${at}]`);
  return input.filter(isReadable);
}

function isReadable(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return true;
  const content = textOf(item.encrypted_content);
  return content !== '' && !isWrappedState(content);
}

/** Adds the service's own words to a refusal of a request that went out as it came. */
export function withOriginal(failure: ProviderFailure, body: string, passthrough = false): ProviderFailure {
  const original = passthrough && (failure.kind === 'rejected' || failure.kind === 'context') ? parseJson(body) : null;
  return isObject(original) ? { ...failure, original } : failure;
}
