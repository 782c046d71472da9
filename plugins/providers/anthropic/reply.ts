import type { StreamPart } from 'signalbox/plugin';
import { isObject, parseJson } from '../json.ts';
import { addUsage, malformed } from '../parts.ts';
import { BlockReader } from './blocks.ts';
import { failureOfError } from './failure.ts';
import { finishOf } from './finish.ts';
import { readUsage } from './usage.ts';

/** Reads an unstreamed answer into the parts that a stream of it would give. */
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
  addUsage(isObject(reply.usage) ? readUsage(reply.usage) : null, parts);
  return parts;
}
