import type { StreamPart } from 'signalbox/plugin';
import { isObject, parseJson } from '../json.ts';
import { BlockReader } from './blocks.ts';
import { failureOfError } from './failure.ts';
import { finishOf } from './finish.ts';
import { readUsage } from './usage.ts';

/** Reads an answer that came in one piece, into the parts that a stream of it would give. */
export function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  if (reply.error) return [{ type: 'failure', failure: failureOfError(reply.error) }];
  if (!Array.isArray(reply.content)) return [malformed('the answer has no content')];
  const parts: StreamPart[] = [];
  const blocks = new BlockReader();
  for (const [at, block] of reply.content.entries()) {
    blocks.start(at, block, parts);
    blocks.stop(at, parts);
  }
  parts.push(...finishOf(reply));
  const usage = isObject(reply.usage) ? readUsage(reply.usage) : null;
  // What was used is billed, whether or not anything came of it: nobody reads on behind a failure.
  const failed = parts.findIndex(({ type }) => type === 'failure');
  if (usage) parts.splice(failed < 0 ? parts.length : failed, 0, { type: 'usage', usage });
  return parts;
}

function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}
