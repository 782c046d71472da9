import type { StreamPart } from 'signalbox/plugin';
import { ChoiceReader } from './choice.ts';
import { failureOfError } from './failure.ts';
import { isObject, listOf, parseJson } from './json.ts';
import { readUsage } from './usage.ts';

/** Reads an answer that came in one piece, into the parts that a stream of it would give. */
export function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  if (reply.error) return [{ type: 'failure', failure: failureOfError(reply.error) }];
  const parts: StreamPart[] = [];
  const reader = new ChoiceReader();
  const choices = listOf(reply.choices);
  for (const choice of choices) reader.read(choice, parts);
  const usage = readUsage(reply.usage);
  // What was used is billed, whether or not anything came of it.
  if (usage) parts.push({ type: 'usage', usage });
  if (choices.length === 0) parts.push(malformed('the answer has no choices'));
  return parts;
}

function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}
