import {
  type HttpCall,
  isWrappedState,
  type Members,
  type ProviderCall,
  type ProviderFailure,
  writeJson,
} from 'signalbox/plugin';
import { isObject, listOf, objectOf, parseJson, textOf } from '../json.ts';
import { tierName } from '../openai-compatible/request.ts';
import { effortFor } from './models.ts';

/** The dialect of requests that are passed on unchanged. */
export const RESPONSES = 'openai-responses';

/** Signalbox's own fields, and fields of streams. `JSON.stringify` omits members that are undefined. */
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
 * Passes on a request in the dialect of the Responses API. `passedRequest` changes only what routing, money and the missing store require:
 * the model, the cap, the stream, Signalbox's fields, fields that the chosen model does not accept, and reasoning that OpenAI could not
 * find or read.
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
    service_tier: call.serviceTier && tierName(call.serviceTier),
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
    ...writeJson(body, original),
    dropped,
    passthrough: true,
  };
}

function leaveOut(name: string, body: Record<string, unknown>, dropped: string[]): void {
  if (body[name] === undefined) return;
  body[name] = undefined;
  dropped.push(name);
}

/** Returns the fields of a stream. `include_usage` belongs to chat completions, but clients of both APIs send it. */
export function streamFields({ stream_options: options }: Members): Members {
  const { include_usage: _, ...rest } = objectOf(options);
  return { stream: true, ...(Object.keys(rest).length > 0 && { stream_options: rest }) };
}

/** If Signalbox chose the model, Signalbox also chooses the nearest effort. */
function withEffort(reasoning: unknown, upstream: string): unknown {
  if (!isObject(reasoning)) return reasoning;
  const requested = textOf(reasoning.effort);
  const effort = requested === '' ? undefined : effortFor(upstream, requested, 'responses');
  return effort === undefined || effort === requested ? reasoning : { ...reasoning, effort };
}

/** Leaves out the reasoning of other models, and reasoning without its content, because OpenAI has stored nothing. */
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

/** Adds the provider's own error body to the rejection of a request that was passed on unchanged. */
export function withOriginal(failure: ProviderFailure, body: string, passthrough = false): ProviderFailure {
  const original = passthrough && (failure.kind === 'rejected' || failure.kind === 'context') ? parseJson(body) : null;
  return isObject(original) ? { ...failure, original } : failure;
}
