import { canonicalUsage, type FinishReason, type ProviderFailure, type StreamPart, type Usage } from 'signalbox/plugin';
import { isObject, type Json, numberOf, objectOf, statedText, textOf } from '../json.ts';
import { failureOfError } from '../openai-compatible/failure.ts';
import { statedCost } from '../stated-cost.ts';
import { statedUsage } from '../stated-usage.ts';
import type { ItemReader } from './items.ts';

/** Maps the reasons of an incomplete answer to finish reasons. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
]);

/** Codes of errors about the request's content. */
const OF_CONTENT = /^invalid_prompt$|policy|image/;

/** Reads the end and usage of an answer. @param status `completed`, `incomplete`, or anything else for a failure */
export function readEnding(status: string, response: Json, items: ItemReader, parts: StreamPart[]): void {
  const usage = readUsage(response.usage, items.searches);
  const finish = finishOf(status, response, items.hasCalls);
  // All details are in one part, because some clients keep only the last part with details.
  if (finish && items.details.length > 0) parts.push({ type: 'state', choice: 0, details: items.details });
  if (finish) parts.push(finish);
  // The usage comes before the failure, which ends reading, because the usage is billed anyway.
  if (usage) {
    const cost = statedCost(objectOf(response.usage));
    parts.push({ type: 'usage', usage, cost, serviceTier: statedText(response.service_tier) });
  }
  if (!finish) parts.push({ type: 'failure', failure: failureIn(response, status) });
}

const failureIn = ({ error }: Json, status: string): ProviderFailure =>
  isObject(error) ? failureOf(error) : { kind: 'cut', message: `the answer ended as ${status || 'nothing'}` };

function finishOf(status: string, response: Json, hasCalls: boolean): StreamPart | null {
  const raw = status === 'incomplete' ? textOf(objectOf(response.incomplete_details).reason) || status : status;
  const reason = REASONS.get(raw) ?? (hasCalls ? 'tool_calls' : 'stop');
  return status === 'completed' || status === 'incomplete' ? { type: 'finish', choice: 0, reason, raw } : null;
}

/** Returns the failure for an error in a response or its stream. */
export function failureOf(error: Json): ProviderFailure {
  const failure = failureOfError(error);
  return failure.kind === 'server' && OF_CONTENT.test(textOf(error.code)) ? { ...failure, kind: 'rejected' } : failure;
}

/** @param searches the number of web searches, which are billed in addition to tokens */
export function readUsage(usage: unknown, searches: number): Usage | null {
  if (!isObject(usage)) return null;
  if (numberOf(usage.input_tokens) === undefined || numberOf(usage.output_tokens) === undefined) return null;
  return usageOf(usage, searches);
}

/** Returns the usage that a response states, for the caller; undefined for none. */
export const usageStatedIn = ({ usage }: Json): Usage | undefined =>
  isObject(usage) ? statedUsage(usage, usageOf(usage, 0), PROMISED) : undefined;
const PROMISED = { required: ['input_tokens', 'output_tokens', 'total_tokens'] };

/** OpenAI's input and output counts include all other counts of tokens. */
function usageOf(usage: Json, searches: number): Usage {
  const details = objectOf(usage.input_tokens_details);
  const written = numberOf(details.cache_write_tokens);
  const longWritten = numberOf(objectOf(details.cache_write_tokens_details).ttl_12h_tokens);
  return canonicalUsage(
    {
      input: numberOf(usage.input_tokens) ?? 0,
      output: numberOf(usage.output_tokens) ?? 0,
      reasoning: numberOf(objectOf(usage.output_tokens_details).reasoning_tokens),
      units: {
        cached_input: numberOf(details.cached_tokens),
        cache_write: written === undefined ? undefined : written - (longWritten ?? 0),
        cache_write_12h: written ? longWritten : undefined,
        'tool_use/web_search': searches,
      },
    },
    { input: true, output: true, reasoning: true },
  );
}
