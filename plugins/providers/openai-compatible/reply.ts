import type { StreamPart } from 'signalbox/plugin';
import { isObject, listOf, parseJson } from '../json.ts';
import { ChoiceReader } from './choice.ts';
import { errorIn, failureOfError } from './failure.ts';
import { readUsage } from './usage.ts';

/** Reads an answer that came in one piece, into the parts that a stream of it would give. */
export function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  const error = errorIn(reply);
  if (error) return [{ type: 'failure', failure: failureOfError(error) }];
  const parts: StreamPart[] = [];
  const reader = new ChoiceReader();
  const choices = listOf(reply.choices);
  for (const choice of choices) reader.read(choice, parts);
  const usage = readUsage(reply.usage);
  // What was used is billed, whether or not anything came of it: nobody reads on behind a failure.
  const failed = parts.findIndex(({ type }) => type === 'failure');
  if (usage) parts.splice(failed < 0 ? parts.length : failed, 0, { type: 'usage', usage });
  if (choices.length === 0) parts.push(malformed('the answer has no choices'));
  return parts;
}

function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}
