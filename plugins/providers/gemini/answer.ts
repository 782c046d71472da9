import {
  canonicalUsage,
  type FinishReason,
  type Frame,
  objectsIn,
  type ProviderFailure,
  type StreamPart,
  type StreamReader,
  type UnreadOutput,
  type Usage,
} from 'signalbox/plugin';
import { madeCallId } from '../call-ids.ts';
import { indexOf, isObject, type Json, listOf, numberOf, objectOf, parseJson, statedText, textOf } from '../json.ts';
import { addUsage, malformed, unreadParts } from '../parts.ts';
import { OutputFound } from '../unread.ts';
import { failureOfError } from './failure.ts';
import { signatureMembers } from './signature.ts';

/** The maximum number of calls in one choice, as in OpenAI's dialect. */
const CALLS_MAX = 512;

/** Reads an unstreamed answer: one response, or the list that a stream without `alt=sse` returns. */
export function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  const reader = new GeminiReader();
  const parts = (Array.isArray(reply) ? reply : [reply]).flatMap((response) => reader.response(response));
  if (parts.every(({ type }) => type === 'usage')) parts.push(malformed('the answer has no candidates'));
  return parts;
}

/** Reads the responses of one answer. An unstreamed answer is read like a stream with one large piece. */
export class GeminiReader implements StreamReader {
  /** The number of calls of each choice. */
  readonly #calls = new Map<number, number>();
  #responseId = '';

  read(frame: Frame): readonly StreamPart[] {
    return frame.data === '' ? [] : this.response(parseJson(frame.data));
  }

  /** Reads one `GenerateContentResponse`. */
  response(response: unknown): StreamPart[] {
    if (!isObject(response)) return [malformed('the answer is not a JSON object')];
    if (response.error) return [{ type: 'failure', failure: failureOfError(response.error) }];
    this.#responseId ||= textOf(response.responseId);
    const parts: StreamPart[] = [];
    let failure = blocked(response.promptFeedback);
    if (!Array.isArray(response.candidates))
      parts.push(...unreadParts(new OutputFound().add(response, OF_RESPONSE).last()));
    for (const candidate of listOf(response.candidates)) failure ??= this.#candidate(candidate, parts);
    // A usage after the finish completes the answer; a usage before a failure is still billed.
    addUsage(readUsage(response.usageMetadata), parts, undefined, tierIn(objectOf(response.usageMetadata)));
    if (failure) parts.push({ type: 'failure', failure });
    return parts;
  }

  #candidate(candidate: unknown, parts: StreamPart[]): ProviderFailure | null {
    if (!isObject(candidate)) return null;
    const choice = indexOf(candidate.index);
    parts.push(...unreadParts(unreadOf(candidate), choice));
    for (const part of listOf(objectOf(candidate.content).parts)) {
      const failure = isObject(part) ? this.#part(choice, part, parts) : null;
      if (failure) return failure;
    }
    logprobs(choice, candidate.logprobsResult, parts);
    const raw = textOf(candidate.finishReason);
    if (raw === '' || raw === 'FINISH_REASON_UNSPECIFIED') return null;
    const failure = failureOfFinish(raw);
    if (failure) return failure;
    parts.push({ type: 'finish', choice, reason: finishReason(raw, this.#calls.get(choice) ?? 0), raw });
    return null;
  }

  #part(choice: number, part: Json, parts: StreamPart[]): ProviderFailure | null {
    const signature = textOf(part.thoughtSignature);
    const extra = signature === '' ? undefined : signatureMembers(signature);
    if (isObject(part.functionCall)) return this.#call(choice, part.functionCall, extra, parts);
    const text = textOf(part.text);
    if (text !== '') parts.push({ type: part.thought === true ? 'reasoning' : 'text', choice, text });
    if (extra) parts.push({ type: 'state', choice, extra });
    return null;
  }

  /** Calls arrive complete. Before Gemini 3, calls have no ID. */
  #call(choice: number, call: Json, extra: Json | undefined, parts: StreamPart[]): ProviderFailure | null {
    const name = textOf(call.name);
    if (name === '') return { kind: 'malformed', message: 'a function call has no name' };
    const index = this.#calls.get(choice) ?? 0;
    if (index >= CALLS_MAX) return { kind: 'malformed', message: 'the answer has too many tool calls' };
    this.#calls.set(choice, index + 1);
    const id = textOf(call.id) || madeCallId(this.#responseId, choice, index);
    const text = JSON.stringify(objectOf(call.args));
    parts.push({ type: 'tool-call', choice, index, id, name, arguments: text, ...(extra && { extra }) });
    return null;
  }
}

/** Members of a candidate that are not output, or that other parts contain. */
const OF_CANDIDATE: ReadonlySet<string> = new Set([
  ...['index', 'content', 'finishReason', 'finishMessage', 'safetyRatings', 'logprobsResult'],
  'continuationToken',
]);
const OF_CONTENT: ReadonlySet<string> = new Set(['parts']);
const OF_TEXT: ReadonlySet<string> = new Set(['text']);
/** The signature of a call is counted with the call. */
const OF_CALL_PART: ReadonlySet<string> = new Set(['functionCall', 'thoughtSignature']);
const OF_CALL: ReadonlySet<string> = new Set(['id', 'name', 'args']);
const NONE: ReadonlySet<string> = new Set();
/** Members of a response without candidates that are not output. */
const OF_RESPONSE: ReadonlySet<string> = new Set([
  'usageMetadata',
  'promptFeedback',
  'modelVersion',
  'createTime',
  'responseId',
]);

/** Returns the output of a candidate that no other part contains, with its signatures: code and its results, files, sources. */
function unreadOf(candidate: Json): UnreadOutput | undefined {
  const { content } = candidate;
  const found = new OutputFound().add(candidate, OF_CANDIDATE).add(content, OF_CONTENT);
  for (const part of listOf(objectOf(content).parts)) {
    if (!isObject(part)) found.add(part);
    else if (isObject(part.functionCall)) found.add(part, OF_CALL_PART).add(part.functionCall, OF_CALL);
    else found.add(part, typeof part.text === 'string' ? OF_TEXT : NONE);
  }
  return found.last();
}

/** A prompt that Gemini blocks has no answer. A blocked prompt becomes a rejection, as OpenAI answers such a prompt with a 400. */
function blocked(feedback: unknown): ProviderFailure | null {
  const reason = textOf(objectOf(feedback).blockReason);
  if (reason === '' || /^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(reason)) return null;
  return { kind: 'rejected', message: `the provider blocked the prompt: ${reason}`, ofFilter: true };
}

function logprobs(choice: number, result: unknown, parts: StreamPart[]): void {
  if (!isObject(result)) return;
  const tops = listOf(result.topCandidates);
  const content = listOf(result.chosenCandidates).map((chosen, at) => {
    return { ...tokenOf(chosen), top_logprobs: listOf(objectOf(tops[at]).candidates).map(tokenOf) };
  });
  if (content.length > 0) parts.push({ type: 'logprobs', choice, content, refusal: [] });
}

/** Returns a token in OpenAI's form. The token has no bytes, because the text of an incomplete character does not determine them. */
function tokenOf(candidate: unknown): Json {
  const { token, logProbability } = objectOf(candidate);
  return { token: textOf(token), logprob: typeof logProbability === 'number' ? logProbability : 0, bytes: null };
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  // Gemini 4 returns at most 65,536 tokens per request.
  ['CONTINUATION', 'length'],
]);

/** Finish reasons of invalid answers. */
const BROKEN =
  /^(?:MALFORMED_(?:FUNCTION_CALL|RESPONSE)|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)$/;

/**
 * Converts a finish reason to OpenAI's. Finish reasons that are not in the table mean withheld content: `SAFETY`, `RECITATION`, `OTHER`, …
 */
function finishReason(raw: string, calls: number): FinishReason {
  const reason = REASONS.get(raw) ?? 'content_filter';
  return reason === 'stop' && calls > 0 ? 'tool_calls' : reason;
}

/** Returns the failure of an invalid answer; null for a real finish. */
function failureOfFinish(raw: string): ProviderFailure | null {
  return BROKEN.test(raw)
    ? { kind: 'malformed', message: `the model’s answer is invalid: ${raw}`, ofModel: true }
    : null;
}

/** Reads `usageMetadata`; returns null if it has no prompt count. */
function readUsage(metadata: unknown): Usage | null {
  if (!isObject(metadata)) return null;
  const prompt = numberOf(metadata.promptTokenCount);
  if (prompt === undefined) return null;
  // The prompt count excludes input from Google's own tools, which is billed as input.
  const input = prompt + (numberOf(metadata.toolUsePromptTokenCount) ?? 0);
  const output = numberOf(metadata.candidatesTokenCount) ?? 0;
  const reasoning = numberOf(metadata.thoughtsTokenCount) ?? 0;
  // The candidates' count excludes thinking, unless the total shows otherwise.
  const among = metadata.totalTokenCount === input + output;
  return canonicalUsage(
    { input, output, reasoning, units: unitsOf(metadata) },
    { input: true, output: true, reasoning: among },
  );
}

/** Returns the service tier that the usage states, such as `flex` or `SERVICE_TIER_FLEX`; undefined for none. */
const tierIn = ({ serviceTier }: Json): string | undefined =>
  statedText(
    statedText(serviceTier)
      ?.toLowerCase()
      .replace(/^service_tier_|unspecified$/g, ''),
  );

function unitsOf(metadata: Json): Record<string, number | undefined> {
  const { promptTokensDetails: prompt, cacheTokensDetails: cached, candidatesTokensDetails: answer } = metadata;
  return {
    cached_input: numberOf(metadata.cachedContentTokenCount),
    audio_input: Math.max(0, tokensOf(prompt, 'AUDIO') - tokensOf(cached, 'AUDIO')),
    image_input: Math.max(0, tokensOf(prompt, 'IMAGE') - tokensOf(cached, 'IMAGE')),
    audio_output: tokensOf(answer, 'AUDIO'),
    image_output: tokensOf(answer, 'IMAGE'),
  };
}

/** Returns the tokens of one modality. */
function tokensOf(details: unknown, modality: string): number {
  const own = objectsIn(details).find((one) => one.modality === modality);
  return numberOf(own?.tokenCount) ?? 0;
}
