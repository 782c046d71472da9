import type { Frame, StreamPart, StreamReader } from 'signalbox/plugin';
import { isObject, type Json, listOf, parseJson } from '../json.ts';
import { malformed } from '../parts.ts';
import { ChoiceReader } from './choice.ts';
import { errorIn, failureOfError } from './failure.ts';
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
    if (!isObject(chunk)) return [malformed('a chunk is not a JSON object')];
    const error = errorIn(chunk) ?? (frame.event === 'error' ? chunk : null);
    if (error) return [{ type: 'failure', failure: failureOfError(error) }];
    const parts: StreamPart[] = [];
    const choices = listOf(chunk.choices);
    for (const choice of choices) this.#choices.read(choice, parts);
    // Usage last: after the finish it completes the answer.
    const usage = usageOf(chunk, choices);
    if (usage) parts.push({ type: 'usage', usage });
    return parts;
  }
}

/** Groq has reported usage in its own member, Moonshot in the choice. */
function usageOf(chunk: Json, choices: readonly unknown[]) {
  const ofGroq = isObject(chunk.x_groq) ? chunk.x_groq.usage : null;
  const [choice] = choices;
  return readUsage(chunk.usage) ?? readUsage(ofGroq) ?? (isObject(choice) ? readUsage(choice.usage) : null);
}
