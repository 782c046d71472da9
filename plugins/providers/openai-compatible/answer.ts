import {
  canonicalUsage,
  type Frame,
  type StreamPart,
  type StreamReader,
  type TextForm,
  type Usage,
} from 'signalbox/plugin';
import { isObject, type Json, listOf, numberOf, objectOf, parseJson, statedText } from '../json.ts';
import { addUsage, malformed, unreadParts } from '../parts.ts';
import { statedCost } from '../stated-cost.ts';
import { ChoiceReader } from './choice.ts';
import { errorIn, failureOfError } from './failure.ts';
import { TextEvent } from './text-event.ts';
import { unreadOfChunk } from './unread.ts';

/** Reads an unstreamed answer into the same parts that a stream would produce. */
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
  for (const choice of choices) reader.read(choice, reply.id, parts);
  addUsage(readUsage(reply.usage), parts, statedCost(objectOf(reply.usage)), statedText(reply.service_tier));
  if (choices.length === 0) parts.push(malformed('the answer has no choices'));
  return parts;
}

const NOTHING: readonly StreamPart[] = [];

/** Reads the chunks of one stream. */
export class ChunkReader implements StreamReader {
  readonly #choices = new ChoiceReader();
  readonly #usual = new TextEvent();
  /** The service tier that a chunk has stated last. Not every server repeats it in the chunk with the usage. */
  #tier: string | undefined;
  #done = false;

  get textForm(): TextForm | null {
    // Tool calls in the answer may give an event another meaning.
    return this.#done || this.#choices.hasCalls ? null : this.#usual.form;
  }

  read({ event, data }: Frame): readonly StreamPart[] {
    if (this.#done || data === '') return NOTHING;
    const isError = event === 'error';
    const text = isError || this.#choices.hasCalls ? null : this.#usual.read(data);
    if (text) return [text];
    if (data.trim() === '[DONE]') {
      this.#done = true;
      return NOTHING;
    }
    const chunk = parseJson(data);
    const tier = isObject(chunk) ? statedText(chunk.service_tier) : undefined;
    const isNewTier = tier !== undefined && tier !== this.#tier;
    if (isNewTier) this.#tier = tier;
    const parts = readChunk(chunk, isError, this.#choices, this.#tier, isNewTier);
    this.#usual.learn(data, parts, readAlone);
    return parts;
  }
}

const readAlone = (data: string): readonly StreamPart[] => readChunk(parseJson(data), false, new ChoiceReader());

/**
 * @param tier the service tier that the answer states
 * @param isNewTier whether this chunk is the first to state it. If the answer breaks off before its usage, the tier is known nevertheless.
 */
function readChunk(
  chunk: unknown,
  isError: boolean,
  reader: ChoiceReader,
  tier?: string,
  isNewTier = false,
): readonly StreamPart[] {
  if (!isObject(chunk)) return [malformed('a chunk is not a JSON object')];
  const error = errorIn(chunk) ?? (isError ? chunk : null);
  if (error) return [{ type: 'failure', failure: failureOfError(error) }];
  const parts: StreamPart[] = [...unreadParts(unreadOfChunk(chunk))];
  const choices = listOf(chunk.choices);
  for (const choice of choices) reader.read(choice, chunk.id, parts);
  // The usage comes last, because a usage after the finish completes the answer.
  const usage = usageOf(chunk, choices);
  if (usage) {
    const cost = statedCost(objectOf(chunk.usage));
    parts.push({ type: 'usage', usage, cost, serviceTier: tier });
  } else if (isNewTier) parts.push({ type: 'usage', serviceTier: tier });
  return parts;
}

/** Groq reports usage in a member of its own, Moonshot within the choice. */
function usageOf(chunk: Json, choices: readonly unknown[]) {
  const ofGroq = objectOf(chunk.x_groq).usage;
  return readUsage(chunk.usage) ?? readUsage(ofGroq) ?? readUsage(objectOf(choices[0]).usage);
}

/** Reads a `usage` object; returns null if it has no token counts. The host checks whether the token counts are plausible. */
function readUsage(usage: unknown): Usage | null {
  if (!isObject(usage)) return null;
  const input = numberOf(usage.prompt_tokens);
  const output = numberOf(usage.completion_tokens);
  if (input === undefined || output === undefined) return null;
  const prompt = objectOf(usage.prompt_tokens_details);
  const completion = objectOf(usage.completion_tokens_details);
  const cachedInput =
    numberOf(prompt.cached_tokens) ??
    // DeepSeek, Moonshot and Mistral use other names for cached tokens.
    numberOf(usage.prompt_cache_hit_tokens) ??
    numberOf(usage.cached_tokens) ??
    numberOf(usage.num_cached_tokens);
  const reasoning = numberOf(completion.reasoning_tokens) ?? 0;
  // OpenAI's output tokens include reasoning. xAI's output tokens do not include reasoning, as the total shows.
  const isApart = reasoning !== 0 && usage.total_tokens === input + output + reasoning;
  const outputTokens = isApart ? output + reasoning : output;
  const written = numberOf(prompt.cache_write_tokens);
  const [heard, spoken] = [numberOf(prompt.audio_tokens), numberOf(completion.audio_tokens)];
  if (!cachedInput && !written && !heard && !spoken)
    return { inputTokens: input, outputTokens, reasoningTokens: reasoning, units: undefined };
  const units = {
    cached_input: cachedInput,
    cache_write: written,
    // Cached tokens can be audio. Only as many as must be are billed as cached, because audio costs more.
    audio_input: heard && Math.max(0, Math.min(heard, input - (cachedInput ?? 0) - (written ?? 0))),
    audio_output: spoken,
  };
  return canonicalUsage({ input, output: outputTokens, reasoning, units }, ALL_INCLUDED);
}
const ALL_INCLUDED = { input: true, output: true, reasoning: true };
