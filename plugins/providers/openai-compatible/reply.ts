import type { StreamPart } from 'signalbox/plugin';
import { isObject, listOf, parseJson } from '../json.ts';
import { addUsage, malformed } from '../parts.ts';
import { ChoiceReader } from './choice.ts';
import { errorIn, failureOfError } from './failure.ts';
import { readUsage } from './usage.ts';

/** Reads an unstreamed answer into the parts that a stream of it would give. */
export function readReply(body: string): readonly StreamPart[] {
  return readCompletion(parseJson(body));
}

export function readCompletion(reply: unknown): readonly StreamPart[] {
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  const error = errorIn(reply);
  if (error) return [{ type: 'failure', failure: failureOfError(error) }];
  const parts: StreamPart[] = [];
  const reader = new ChoiceReader();
  const choices = listOf(reply.choices);
  for (const choice of choices) reader.read(choice, parts);
  addUsage(readUsage(reply.usage), parts);
  if (choices.length === 0) parts.push(malformed('the answer has no choices'));
  return parts;
}
