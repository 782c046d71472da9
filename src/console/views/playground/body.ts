import { OPERATION_NAMES, type Operation } from '../../../core/kinds/operations.ts';
import { listOf, type Members, membersOf, numberOf } from '../../api/json.ts';
import { typedCredits } from '../../design/amount.ts';
import dialects from './dialects.json' with { type: 'json' };
import { type Shares, sharesOf } from './shares.ts';

/** The API dialects, as their surfaces describe them. `name` is the value of `dialect` in a request for an explanation. */
export const DIALECTS = dialects;
export type Dialect = keyof typeof DIALECTS;

/** The operation of a dialect's requests. */
export const operationOf = (dialect: Dialect): Operation =>
  OPERATION_NAMES.find((name) => name === DIALECTS[dialect].operation) ?? 'chat';

export const isDialect = (text: string): text is Dialect => Object.hasOwn(DIALECTS, text);

export type RequestBody = Members;

/** Settings of a request other than its text. Ceilings are texts as the viewer typed them; '' for none. A bare amount is in USD. */
export interface Terms {
  /** A selector or a model. */
  readonly model: string;
  /** The shares that the viewer set; null leaves the choice to the order of the selector. */
  readonly shares: Shares | null;
  readonly costMax: string;
  readonly maxSeconds: string;
  readonly budget: string;
  readonly isStreamed: boolean;
}

/** How the page understands the typed text. */
export type Draft =
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'body'; readonly body: RequestBody; readonly dialect: Dialect }
  | { readonly kind: 'broken'; readonly message: string };

/**
 * Reads the typed text as a request body if it starts like JSON, otherwise as a prompt.
 * @param chosen the dialect to use if the body fits several dialects
 */
export function draftOf(text: string, chosen: Dialect): Draft {
  if (!/^\s*\{/.test(text)) return { kind: 'prompt', text };
  try {
    const body = membersOf(JSON.parse(text));
    return body ? { kind: 'body', body, dialect: dialectOf(body, chosen) } : { kind: 'prompt', text };
  } catch (cause) {
    return { kind: 'broken', message: cause instanceof Error ? cause.message : 'The text is not valid JSON.' };
  }
}

/** Members that exist in Anthropic Messages but not in OpenAI chat completions. The server recognises the dialect by the same members. */
const OF_MESSAGES = ['system', 'stop_sequences', 'thinking', 'output_config', 'context_management', 'thread'];
const BLOCKS = ['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result'];
const OF_EMBEDDINGS = ['dimensions', 'encoding_format'];
const OF_RESPONSES = [
  'instructions',
  'max_output_tokens',
  'previous_response_id',
  'store',
  'reasoning',
  'text',
  'tools',
];

/** Recognises the dialect of a body by its members. */
export function dialectOf(body: RequestBody, chosen: Dialect): Dialect {
  const has = (name: string) => body[name] != null;
  if (has('messages')) {
    const isMessages =
      OF_MESSAGES.some(has) ||
      listOf(body.tools).some((tool) => membersOf(tool)?.input_schema != null) ||
      listOf(body.messages).some((turn) =>
        listOf(membersOf(turn)?.content).some((block) => BLOCKS.some((type) => membersOf(block)?.type === type)),
      );
    if (isMessages) return 'messages';
    // A plain conversation is valid in both dialects.
    return chosen === 'messages' ? 'messages' : 'chat';
  }
  if (!has('input')) return chosen;
  if (OF_EMBEDDINGS.some(has) || listOf(body.input).some((one) => membersOf(one) === null)) return 'embeddings';
  if (OF_RESPONSES.some(has) || has('stream') || Array.isArray(body.input)) return 'responses';
  const isEmbedding = typeof body.model === 'string' && body.model.includes('embed');
  return isEmbedding || chosen === 'embeddings' ? 'embeddings' : 'responses';
}

/** The settings that a body contains. Settings that the body does not contain are left out. */
export function termsIn(body: RequestBody): Partial<Terms> {
  const weights = membersOf(body.route_strategy);
  const limits = membersOf(body.constraints);
  const shares = weights
    ? sharesOf(
        numberOf(weights.quality_weight) ?? DEFAULT_QUALITY,
        numberOf(weights.cost_weight) ?? DEFAULT_COST,
        numberOf(weights.latency_weight) ?? 0,
      )
    : null;
  const ms = numberOf(limits?.max_latency_ms);
  return {
    ...(typeof body.model === 'string' && { model: body.model }),
    ...(shares && { shares }),
    ...creditsTerm('costMax', numberOf(limits?.max_cost_credits)),
    ...(ms !== null && { maxSeconds: String(ms / 1_000) }),
    ...creditsTerm('budget', numberOf(body.budget_limit)),
    ...(typeof body.stream === 'boolean' && { isStreamed: body.stream }),
  };
}

/** The default weights of a policy. The page sends the default weights if the body has no weights, so that the page shows what it sends. */
const [DEFAULT_QUALITY, DEFAULT_COST] = [0.7, 0.3];

const creditsTerm = (name: 'costMax' | 'budget', credits: number | null) =>
  credits === null ? {} : { [name]: typedCredits(credits) };

/** Makes a request body from a prompt. */
export const bodyOfPrompt = (text: string, dialect: Dialect): RequestBody =>
  membersOf(JSON.parse(JSON.stringify(DIALECTS[dialect].prompt), (_, value) => (value === 'PROMPT' ? text : value))) ??
  {};

/** Terms in the form of a request: numbers of Credits, or a text that the server refuses because it is not an amount. */
export interface SentTerms extends Omit<Terms, 'costMax' | 'budget'> {
  readonly costMax: number | string | undefined;
  readonly budget: number | string | undefined;
}

/** Makes the complete body: the typed body, in which the settings of the page replace its own. */
export function requestOf(own: RequestBody, dialect: Dialect, terms: SentTerms): RequestBody {
  const { model: _, route_strategy: __, constraints, budget_limit: ___, stream: ____, ...rest } = own;
  const { max_cost_credits: _____, max_latency_ms: ______, ...kept } = membersOf(constraints) ?? {};
  const { costMax, budget } = terms;
  const seconds = typedNumber(terms.maxSeconds);
  const limits = {
    ...kept,
    ...(costMax !== undefined && { max_cost_credits: costMax }),
    ...(seconds !== undefined && { max_latency_ms: isNumber(seconds) ? Math.round(seconds * 1_000) : seconds }),
  };
  return {
    model: terms.model,
    ...rest,
    ...(terms.shares && { route_strategy: weightsOf(terms.shares) }),
    ...(Object.keys(limits).length > 0 && { constraints: limits }),
    ...(budget !== undefined && { budget_limit: budget }),
    ...(DIALECTS[dialect].delta !== null && terms.isStreamed && { stream: true }),
  };
}

export const weightsOf = ({ quality, cost, speed }: Shares) => ({
  cost_weight: cost / 100,
  quality_weight: quality / 100,
  ...(speed > 0 && { latency_weight: speed / 100 }),
});

/**
 * Converts typed text to a number; undefined if the text is empty. Text that is not a number is sent unchanged, so that the server explains
 * the mistake.
 */
const typedNumber = (text: string): number | string | undefined => {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
};
const isNumber = (value: unknown): value is number => typeof value === 'number';

/** The body for `POST /admin/policy/explain`. Without a prompt, the body describes an ordinary request. */
export function questionOf(request: RequestBody, dialect: Dialect, hasText: boolean): RequestBody {
  if (hasText) return { dialect: DIALECTS[dialect].name, ...request };
  const { model, constraints, route_strategy } = request;
  return {
    model,
    operation: operationOf(dialect),
    ...(constraints !== undefined && { constraints }),
    ...(route_strategy !== undefined && { route_strategy }),
  };
}
