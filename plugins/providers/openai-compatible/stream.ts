import type { Frame, StreamPart, StreamReader } from 'signalbox/plugin';
import { ChoiceReader } from './choice.ts';
import { errorIn, failureOfError } from './failure.ts';
import { isObject, listOf, parseJson } from '../json.ts';
import { readUsage } from './usage.ts';

const NOTHING: readonly StreamPart[] = [];

/** Reads the chunks of one stream. */
export class ChunkReader implements StreamReader {
  readonly #choices = new ChoiceReader();
  #done = false;

  read(frame: Frame): readonly StreamPart[] {
    if (this.#done || frame.data === '') return NOTHING;
    if (frame.data.trim() === '[DONE]') {
      this.#done = true;
      return NOTHING;
    }
    const chunk = parseJson(frame.data);
    if (!isObject(chunk)) {
      return [{ type: 'failure', failure: { kind: 'malformed', message: 'a chunk is not a JSON object' } }];
    }
    const error = errorIn(chunk) ?? (frame.event === 'error' ? chunk : null);
    if (error) return [{ type: 'failure', failure: failureOfError(error) }];
    const parts: StreamPart[] = [];
    for (const choice of listOf(chunk.choices)) this.#choices.read(choice, parts);
    // Usage last: behind the finish it tells the host that the answer is whole.
    const usage = readUsage(chunk.usage);
    if (usage) parts.push({ type: 'usage', usage });
    return parts;
  }
}
