import { FIELD_NAMES } from '../../contract/field-names.ts';
import { extrasOf, unnamedMembers } from '../../core/api/extras.ts';
import { routingOf } from '../../core/api/routing-fields.ts';
import { askedTier, DEFAULT_TIER } from '../../core/money/service-tier.ts';
import type { AnswerFormat, ModelSettings } from '../../core/request/conversation.ts';
import type { FieldNames, RequestReader } from '../../core/request/model-request.ts';
import { unpricedIn } from './billing.ts';
import { conversationOf } from './conversation.ts';
import { KNOWN_FIELDS, type MessagesRequest } from './request.ts';

/** The name of Anthropic's Messages dialect in `original.dialect`. */
export const ANTHROPIC_MESSAGES = 'anthropic-messages';

const NAMES: FieldNames = {
  ...FIELD_NAMES,
  stop: 'stop_sequences',
  answerFormat: 'output_config.format',
  reasoningEffort: 'output_config.effort',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  user: 'metadata.user_id',
};
const BY_THINKING: FieldNames = { ...NAMES, reasoningEffort: 'thinking' };

/** The field with which a request asks for a service tier: `speed`, or `service_tier` if no speed is stated. */
const tierField = ({ speed }: MessagesRequest) => (speed == null || speed === 'standard' ? 'service_tier' : 'speed');

/** Reads the body of a message request that has already been checked. */
export const MESSAGES_READER: RequestReader<MessagesRequest> = {
  dialect: ANTHROPIC_MESSAGES,
  operation: 'chat',
  names: namesOf,
  model: ({ model }) => model,
  isStream: ({ stream }) => stream === true,
  conversation: conversationOf,
  settings: settingsOf,
  routing: (body) => ({
    ...routingOf(body, body.metadata ?? undefined),
    unpriced: unpricedIn(body),
    unnamed: unnamedIn(body),
  }),
  extras: (body) => extrasOf(body, KNOWN_FIELDS),
  answerFormat: ({ schema }) => ({ type: 'json_schema', schema }),
};

function namesOf(body: MessagesRequest): FieldNames {
  const names = body.output_config?.effort == null ? BY_THINKING : NAMES;
  const serviceTier = tierField(body);
  return serviceTier === names.serviceTier ? names : { ...names, serviceTier };
}

function settingsOf(body: MessagesRequest): ModelSettings {
  return {
    // A warm-up request has `max_tokens: 0`. Signalbox decides a warm-up request, and makes its hold, as if its answer had one token.
    outputTokensMax: Math.max(1, body.max_tokens),
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    stop: body.stop_sequences ?? undefined,
    answerFormat: formatOf(body),
    reasoningEffort: effortOf(body),
    parallelToolCalls: isSingle(body) ? false : undefined,
    user: body.metadata?.user_id,
    serviceTier: tierOf(body),
  };
}

/** Anthropic’s `standard_only` excludes capacity that the account has bought in advance, so it means the default tier. */
function tierOf(body: MessagesRequest): string | undefined {
  const stated = body[tierField(body)];
  return askedTier(stated === 'standard_only' ? DEFAULT_TIER : stated);
}

/**
 * Whether the request allows only one call: if the model must call a certain tool, it calls the tool once, even if the provider has no
 * switch for it. The AI SDK requests objects with such a forced call.
 */
function isSingle({ tool_choice: choice, tools }: MessagesRequest): boolean {
  if (choice == null || choice.type === 'none' || choice.type === 'tool') return false;
  return choice.disable_parallel_tool_use === true && (choice.type === 'auto' || tools?.length !== 1);
}

const AT = ['output_config', 'format'] as const;
/** The name of the field `output_config.format` in older betas. */
const OLDER_AT = ['output_format'] as const;

function formatOf({ output_config: output, output_format: older }: MessagesRequest): AnswerFormat | undefined {
  const format = output?.format ?? older;
  if (format == null) return undefined;
  const at = output?.format == null ? OLDER_AT : AT;
  return { type: 'json-schema', schema: format.schema, at, valueAt: at };
}

/** The reasoning efforts, each with the maximum share of the output cap that its thinking budget takes. */
const EFFORTS = [
  [0.3, 'low'],
  [0.65, 'medium'],
] as const;

/** Returns the effort of a request. A thinking budget becomes the effort with which other models spend the same share of the output. */
function effortOf({ output_config: output, thinking, max_tokens: cap }: MessagesRequest): string | undefined {
  if (thinking?.type === 'disabled') return 'none';
  if (output?.effort != null) return output.effort;
  if (thinking?.type !== 'enabled') return undefined;
  const share = thinking.budget_tokens / cap;
  return EFFORTS.find(([most]) => share <= most)?.[1] ?? 'high';
}

const OF_OUTPUT: ReadonlySet<string> = new Set(['effort', 'format']);
const OF_THINKING: ReadonlySet<string> = new Set(['type', 'budget_tokens']);
const KINDS_OF_THINKING: ReadonlySet<string> = new Set(['enabled', 'adaptive', 'disabled']);

function unnamedIn({ output_config: output, thinking }: MessagesRequest): readonly string[] {
  if (!output && !thinking) return [];
  return [
    ...unnamedMembers('output_config', output, OF_OUTPUT),
    ...unnamedMembers('thinking', thinking, OF_THINKING),
    ...(thinking && !KINDS_OF_THINKING.has(thinking.type) ? ['thinking.type'] : []),
  ];
}
