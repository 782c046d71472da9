import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import type { AnswerIdentity } from '../../core/decision/answer.ts';
import { idText } from '../../core/id.ts';
import { DEFAULT_TIER } from '../../core/money/service-tier.ts';
import { figureOf, type Usage } from '../../core/money/usage.ts';
import type { AnswerBlocks } from './answer-blocks.ts';

/** Returns the members of a message that are the same at its start and its end: all except content, end reason and usage. */
export const messageHead = ({ decision, model }: AnswerIdentity) =>
  ({
    id: idText('msg_', decision),
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    diagnostics: null,
  }) as const;

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** The reason why an answer ended, and the stop sequence that ended it, if known. */
export type FinishReport = Pick<Extract<StreamPart, { type: 'finish' }>, 'reason' | 'stop'>;

/** Returns the members that state why an answer ended. */
export function stopMembers(
  { reason: finish, stop }: FinishReport,
  { hasCalls, isRefusal }: Pick<AnswerBlocks, 'hasCalls' | 'isRefusal'>,
) {
  // Clients run tools only if the end reason is `tool_use`.
  const reason = finish === 'stop' && hasCalls ? 'tool_calls' : isRefusal ? 'content_filter' : finish;
  if (reason === 'stop' && stop !== undefined) {
    return { stop_reason: 'stop_sequence', stop_sequence: stop, stop_details: null };
  }
  const stop_reason = STOP_REASONS[reason];
  const stop_details = stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
  return { stop_reason, stop_sequence: null, stop_details };
}

/** Returns the usage in Anthropic's form, where `input_tokens` excludes input that was read from a cache or written to one. */
export function usageMembers(usage: Usage, estimated: boolean) {
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  const [cached, written] = [figureOf(usage, 'cache_read'), figureOf(usage, 'cache_write')];
  return {
    input_tokens: inputTokens - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: estimated ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** Returns the usage of a complete message. @param tier the service tier that the provider states; undefined for none */
export const wholeUsage = (usage: Usage, estimated: boolean, tier?: string) => ({
  ...usageMembers(usage, estimated),
  service_tier: null,
  inference_geo: null,
  speed: null,
  ...tierMembers(tier),
});

/** Returns the members of a usage that state a service tier. Anthropic calls the tier `fast` a speed, and the default tier `standard`. */
export function tierMembers(tier: string | undefined) {
  if (tier === undefined) return {};
  if (tier === 'fast') return { speed: tier, service_tier: 'standard' };
  return { service_tier: tier === DEFAULT_TIER ? 'standard' : tier };
}

/** The end of an answer that Signalbox cut because the money for more output was missing. */
export const CUT = { stop_reason: 'max_tokens', stop_sequence: null, stop_details: null } as const;
