import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import type { WireOf } from '../../core/define/field.ts';
import { idText } from '../../core/id.ts';
import type { Members } from '../../core/json/original.ts';
import { figureOf, type Usage } from '../../core/money/usage.ts';
import { NO_ARGUMENTS } from '../no-arguments.ts';
import type { AnswerWriter } from '../surface.ts';
import type { Usage as UsageSchema } from './completion-schema.ts';

/** Returns the ID of an answer in OpenAI's form. */
export const completionId = (decision: number): string => idText('chatcmpl-', decision);

interface Choice {
  content: string | null;
  reasoning: string;
  refusal: string | null;
  calls: { id: string; name: string; arguments: string; extra?: Members }[];
  /** State that only the model that wrote it can read: entries of `reasoning_details`, and `extra_content`. */
  details: Members[];
  extra: Members | null;
  logprobs: { readonly content: unknown[]; readonly refusal: unknown[] } | null;
  finish: FinishReason;
}

const emptyChoice = (): Choice => ({
  content: null,
  reasoning: '',
  refusal: null,
  calls: [],
  details: [],
  extra: null,
  logprobs: null,
  finish: 'stop',
});

/** Combines the parts of an answer into one `chat.completion`. */
export class CompletionWriter implements AnswerWriter {
  readonly #identity: AnswerIdentity;
  readonly #choices: Choice[] = [];

  constructor(identity: AnswerIdentity) {
    this.#identity = identity;
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      if (part.type === 'usage' || part.type === 'failure' || part.type === 'passthrough' || part.type === 'unread')
        continue;
      while (this.#choices.length <= part.choice) this.#choices.push(emptyChoice());
      addTo(this.#choices[part.choice]!, part);
    }
    return '';
  }

  end({ usage, platform }: Receipt): string {
    const { decision, created, model } = this.#identity;
    return JSON.stringify({
      id: completionId(decision),
      object: 'chat.completion',
      created,
      model,
      choices: this.#choices.map((choice, index) => ({
        index,
        message: messageOf(choice),
        logprobs: choice.logprobs && logprobsBody(choice.logprobs),
        finish_reason: choice.finish,
      })),
      usage: usageBody(usage, platform.estimated),
      service_tier: servedTierIn(platform),
      platform,
    });
  }
}

function addTo(choice: Choice, part: Exclude<StreamPart, { type: 'usage' | 'failure' | 'passthrough' }>): void {
  switch (part.type) {
    case 'text':
      choice.content = (choice.content ?? '') + part.text;
      return;
    case 'reasoning':
      choice.reasoning += part.text;
      return;
    case 'refusal':
      choice.refusal = (choice.refusal ?? '') + part.text;
      return;
    case 'tool-call':
      while (choice.calls.length <= part.index) choice.calls.push({ id: '', name: '', arguments: '' });
      if (part.id) choice.calls[part.index]!.id = part.id;
      if (part.name) choice.calls[part.index]!.name = part.name;
      choice.calls[part.index]!.arguments += part.arguments;
      if (part.extra) choice.calls[part.index]!.extra = part.extra;
      return;
    case 'state':
      for (const entry of part.details ?? []) choice.details.push(entry);
      choice.extra = part.extra ?? choice.extra;
      return;
    case 'logprobs':
      choice.logprobs ??= { content: [], refusal: [] };
      // The writer adds the entries one by one, because a function call cannot have a million arguments.
      for (const one of part.content) choice.logprobs.content.push(one);
      for (const one of part.refusal) choice.logprobs.refusal.push(one);
      return;
    case 'finish':
      choice.finish = part.reason;
  }
}

function messageOf({ content, reasoning, refusal, calls, details, extra, finish }: Choice): object {
  const bare = content ?? (calls.length > 0 || refusal !== null ? null : '');
  const message = { role: 'assistant', content: bare, refusal };
  if (reasoning === '' && calls.length === 0 && details.length === 0 && extra === null) return message;
  return {
    ...message,
    ...(reasoning && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(extra && { extra_content: extra }),
    ...(calls.length > 0 && { tool_calls: callsOf(calls, finish === 'length' ? '' : NO_ARGUMENTS) }),
  };
}

/** @param bare the text to write for a call without arguments */
function callsOf(calls: Choice['calls'], bare: string): readonly object[] {
  return calls.map(({ id, name, arguments: args, extra }) => ({
    id,
    type: 'function',
    function: { name, arguments: args || bare },
    ...(extra && { extra_content: extra }),
  }));
}

interface Logprobs {
  readonly content: readonly unknown[];
  readonly refusal: readonly unknown[];
}

/** Returns token probabilities in OpenAI's form, which has null instead of an empty list. */
export function logprobsBody({ content, refusal }: Logprobs): object {
  return { content: content.length > 0 ? content : null, refusal: refusal.length > 0 ? refusal : null };
}

/** Returns the usage in OpenAI's form. The usage contains details only if the upstream reported them. */
export function usageBody(usage: Usage, estimated: boolean): WireOf<typeof UsageSchema> {
  const { inputTokens, outputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    // `JSON.stringify` omits members that are undefined.
    prompt_tokens_details: estimated
      ? undefined
      : {
          cached_tokens: figureOf(usage, 'cache_read'),
          cache_write_tokens: figureOf(usage, 'cache_write') || undefined,
        },
    completion_tokens_details: estimated ? undefined : { reasoning_tokens: usage.reasoningTokens },
  };
}
