import { Type } from '@sinclair/typebox';
import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { errorBody } from '../../core/api/error.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import { Platform } from '../../core/decision/platform.ts';
import { modelId, servedTier } from '../../core/decision/shared-fields.ts';
import { always, count, list, named, orNull, shape, text, unixTime, word } from '../../core/define/fields.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Usage } from '../../core/money/usage.ts';
import { serverSentEvents } from '../server-sent-events.ts';
import type { AnswerWriter, EventForm, EventWriter } from '../surface.ts';

const FINISH_REASONS = ['stop', 'length', 'content_filter'] as const;

/** An answer, or a piece of one. */
export const TextCompletion = named(
  'TextCompletion',
  'An answer in the form of OpenAI’s older completions, or a piece of one.',
  {
    id: text('The ID of the answer.', 'cmpl-0a4x1wm3zk0'),
    object: always('text_completion'),
    created: unixTime('When the request was admitted.'),
    model: modelId('The model that answered.'),
    choices: list(
      Type.Object({
        text: text('The text, or its next piece.'),
        index: count('The index of the choice.', 0),
        logprobs: Type.Null({ description: 'Always null.' }),
        finish_reason: orNull(word(FINISH_REASONS, 'Why the text ended.'), 'Null before the end of the choice.'),
      }),
      'The choices.',
    ),
    usage: Type.Optional(
      shape('The tokens. A stream has them in its last chunk, with `stream_options: {"include_usage": true}`.', {
        prompt_tokens: count('Input tokens.', 12),
        completion_tokens: count('Output tokens.', 16),
        total_tokens: count('The sum of both.', 28),
      }),
    ),
    service_tier: Type.Optional(servedTier),
    platform: Type.Optional(Platform),
  },
);

const completionHead = ({ decision, created, model }: AnswerIdentity) => ({
  id: idText('cmpl-', decision),
  object: 'text_completion',
  created,
  model,
});

const reasonOf = (reason: FinishReason | undefined): (typeof FINISH_REASONS)[number] =>
  reason === 'length' || reason === 'content_filter' ? reason : 'stop';

const usageBody = ({ inputTokens, outputTokens }: Usage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
});

const isText = (part: StreamPart): part is Extract<StreamPart, { type: 'text' | 'refusal' }> =>
  part.type === 'text' || part.type === 'refusal';

/** Writes an answer as one JSON body. */
export class CompletionsWriter implements AnswerWriter {
  readonly #identity: AnswerIdentity;
  readonly #texts: string[] = [];
  readonly #reasons = new Map<number, FinishReason>();

  constructor(identity: AnswerIdentity) {
    this.#identity = identity;
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      if (part.type === 'finish') this.#reasons.set(part.choice, part.reason);
      if (!isText(part) && part.type !== 'finish') continue;
      while (this.#texts.length <= part.choice) this.#texts.push('');
      if (isText(part)) this.#texts[part.choice] += part.text;
    }
    return '';
  }

  end({ usage, platform }: Receipt): string {
    return JSON.stringify({
      ...completionHead(this.#identity),
      choices: this.#texts.map((content, index) => ({
        text: content,
        index,
        logprobs: null,
        finish_reason: reasonOf(this.#reasons.get(index)),
      })),
      usage: usageBody(usage),
      service_tier: servedTierIn(platform),
      platform,
    });
  }
}

/** Writes an answer as server-sent events. The last chunk with a finish reason has `platform`. */
class CompletionsChunks implements EventWriter {
  readonly #head: object;
  readonly #includeUsage: boolean;
  readonly #reasons = new Map<number, FinishReason>();

  constructor(identity: AnswerIdentity, includeUsage: boolean) {
    this.#head = completionHead(identity);
    this.#includeUsage = includeUsage;
  }

  write(parts: readonly StreamPart[]): string {
    let out = '';
    for (const part of parts) {
      if (part.type === 'finish') this.#reasons.set(part.choice, part.reason);
      else if (isText(part)) out += this.#chunk([choiceOf(part.text, part.choice, null)]);
    }
    return out;
  }

  end({ usage, platform }: Receipt): string {
    let out = '';
    const last = [...this.#reasons.keys()].at(-1);
    const service_tier = servedTierIn(platform);
    for (const [index, reason] of this.#reasons) {
      out += this.#chunk([choiceOf('', index, reasonOf(reason))], index === last ? { service_tier, platform } : {});
    }
    if (this.#includeUsage) out += this.#chunk([], { usage: usageBody(usage), service_tier });
    return `${out}data: [DONE]\n\n`;
  }

  error(error: SignalboxError, platform: Receipt['platform'] | null): string {
    return `data: ${JSON.stringify({ ...errorBody(error), ...(platform && { platform }) })}\n\n`;
  }

  #chunk(choices: readonly object[], more: object = {}): string {
    return `data: ${JSON.stringify({ ...this.#head, choices, ...more })}\n\n`;
  }
}

const choiceOf = (content: string, index: number, finish_reason: string | null) => ({
  text: content,
  index,
  logprobs: null,
  finish_reason,
});

/** Returns the form of a stream. @param includeUsage whether the last chunk has the usage */
export const chunksWith = (includeUsage: boolean): EventForm => ({
  ...serverSentEvents((identity) => new CompletionsChunks(identity, includeUsage)),
  hasNoFailedEnd: true,
});
