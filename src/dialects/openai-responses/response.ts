import type { ApiError } from '../../core/api/error.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import { idText } from '../../core/id.ts';
import type { Members } from '../../core/json/original.ts';
import { figureOf, type Usage } from '../../core/money/usage.ts';
import { isAllowedTools, type ResponsesRequest } from './request.ts';

/** The changing members of a `response` object. All other members of a `response` object repeat the request. */
export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly completedAt: number | null;
  readonly incompleteReason: string | null;
  readonly error: Pick<ApiError, 'code' | 'message' | 'details'> | null;
  /** The output items as JSON, joined by commas. */
  readonly output: string;
  readonly usage: object | null;
  readonly platform: Receipt['platform'] | null;
}

export const IN_PROGRESS: ResponseState = {
  status: 'in_progress',
  completedAt: null,
  incompleteReason: null,
  error: null,
  output: '',
  usage: null,
  platform: null,
};

/**
 * Writes the `response` object of one answer as JSON. The members of a response that repeat the request can be long, so `ResponseText`
 * writes them once, and only if needed.
 */
export class ResponseText {
  readonly #identity: AnswerIdentity;
  readonly #body: ResponsesRequest;
  #head = '';
  #echo = '';

  constructor(identity: AnswerIdentity, body: ResponsesRequest) {
    this.#identity = identity;
    this.#body = body;
  }

  of({ status, completedAt, incompleteReason, error, output, usage, platform }: ResponseState): string {
    this.#prepare();
    const details = incompleteReason === null ? null : { reason: incompleteReason };
    const own = JSON.stringify({ status, completed_at: completedAt, error, incomplete_details: details, usage });
    const last = platform === null ? '' : `"platform":${JSON.stringify(platform)},`;
    const tier = JSON.stringify((platform && servedTierIn(platform)) ?? 'default');
    return `${this.#head},${own.slice(1, -1)},"output":[${output}],"service_tier":${tier},${last}${this.#echo}`;
  }

  #prepare(): void {
    if (this.#head !== '') return;
    const { decision, created, model } = this.#identity;
    const head = JSON.stringify({ id: idText('resp_', decision), object: 'response', created_at: created, model });
    this.#head = head.slice(0, -1);
    this.#echo = JSON.stringify(echoOf(this.#body)).slice(1);
  }
}

/** Returns the members that repeat the request, with the dialect's defaults for missing members. Signalbox does not store the response. */
function echoOf(body: ResponsesRequest): object {
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    reasoning: { effort: null, summary: null, ...body.reasoning },
    text: { ...body.text, format: echoOfFormat(body.text?.format) },
    tool_choice: isAllowedTools(body.tool_choice)
      ? { mode: 'auto', ...body.tool_choice }
      : (body.tool_choice ?? 'auto'),
    tools: (body.tools ?? []).map(echoOfTool),
    truncation: body.truncation ?? 'disabled',
    metadata: body.metadata ?? {},
    prompt_cache_key: body.prompt_cache_key ?? null,
    safety_identifier: body.safety_identifier ?? null,
    // `JSON.stringify` omits the member if it is undefined.
    user: body.user ?? undefined,
    previous_response_id: null,
    background: false,
    store: false,
  };
}

function echoOfFormat(format: NonNullable<ResponsesRequest['text']>['format']): object {
  if (format?.type !== 'json_schema') return format ?? { type: 'text' };
  const { description, strict } = format;
  return { ...format, description: description ?? null, strict: strict ?? false };
}

const echoOfTool = (tool: Members): object =>
  tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool;

export function usageBody(usage: Usage): object {
  const { inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: figureOf(usage, 'cache_read'),
      cache_write_tokens: figureOf(usage, 'cache_write'),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

const MS_PER_S = 1_000;

/** Returns when the answer ended, in Unix seconds, calculated from the duration of its attempts. */
export function completedAt({ created }: AnswerIdentity, { platform }: Receipt): number {
  const ms = platform.attempts.reduce((sum, attempt) => sum + attempt.ms, 0);
  return created + Math.ceil(ms / MS_PER_S);
}
