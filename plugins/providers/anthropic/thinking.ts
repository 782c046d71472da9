import type { Members, ProviderCall } from 'signalbox/plugin';
import { isObject } from '../json.ts';
import type { ModelRules } from './models.ts';

/** The API's minimum budget, tokens. */
const BUDGET_MIN = 1_024;

/** The share of the output cap for thinking, by effort: OpenRouter's, which many callers know. */
const SHARES: ReadonlyMap<string, number> = new Map([
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.95],
  ['max', 0.95],
]);

/** Most models hide their thinking by default. */
const ADAPTIVE = { type: 'adaptive', display: 'summarized' } as const;

export interface ThinkingConfig {
  /** The request's `thinking`; undefined leaves it to the model. */
  readonly config?: unknown;
  /** The request's `output_config.effort`. */
  readonly effort?: string;
  /** The model may think, which excludes sampling controls. */
  readonly on: boolean;
  /** False where the requested `reasoning_effort` is not possible. */
  readonly honored: boolean;
}

/** The state of a request that decides whether it can ask for thinking. */
interface ThinkingLimits {
  /** The request forces a tool call, which the API refuses together with thinking. */
  readonly isForced: boolean;
  /** Whether thinking with a budget can start at this point of the conversation. */
  readonly canStart: boolean;
}

/** Translates the effort. */
export function thinkingFor(call: ProviderCall, rules: ModelRules, limits: ThinkingLimits): ThinkingConfig {
  const { request, extras, model, outputCap } = call;
  const requested = request.settings.reasoningEffort ?? null;
  if (isObject(extras.thinking)) {
    // The service judges a budget against the caller's own cap. Without one, only a budget that does not fit is lowered.
    const { outputTokensMax: stated } = request.settings;
    const isLowered = stated === undefined ? !isBelow(outputCap, extras.thinking) : outputCap !== stated;
    const config = isLowered ? thinkingBelow(outputCap, extras.thinking) : extras.thinking;
    const on = config !== null && config.type !== 'disabled';
    return { config: config ?? undefined, on, honored: requested === null };
  }
  if (!model.capabilities.includes('reasoning')) return { on: false, honored: requested === null };
  if (!rules.adaptive) return budgetedThinking(requested, outputCap, !limits.isForced && limits.canStart);
  const adaptive = adaptiveThinking(requested, rules);
  // What the caller does not ask for is left to the model: it may still think by default.
  return limits.isForced && adaptive.config === ADAPTIVE ? { ...adaptive, config: undefined } : adaptive;
}

/**
 * The caller's `thinking` under a cap that was lowered: its budget takes at most half of the cap, so that an answer follows.
 * Null where the cap leaves no room for thinking.
 */
export function thinkingBelow(cap: number, thinking: Members): Members | null {
  const { budget_tokens: budget } = thinking;
  if (typeof budget !== 'number') return thinking;
  if (cap <= BUDGET_MIN) return isBelow(cap, thinking) ? thinking : null;
  const most = Math.max(BUDGET_MIN, Math.floor(cap / 2));
  return budget <= most ? thinking : { ...thinking, budget_tokens: most };
}

const isBelow = (cap: number, { budget_tokens: budget }: Members): boolean =>
  typeof budget !== 'number' || budget < cap;

function adaptiveThinking(requested: string | null, rules: ModelRules): ThinkingConfig {
  if (requested === 'none') return disabledThinking(rules);
  const known = requested !== null && SHARES.has(requested) ? requested : undefined;
  // The API has no `minimal`.
  const effort = known === 'minimal' ? 'low' : known;
  const on = rules.thinksByDefault || effort !== undefined;
  return {
    config: on ? ADAPTIVE : undefined,
    effort: effort === 'xhigh' && !rules.xhigh ? 'high' : effort,
    on,
    honored: requested === null || effort !== undefined,
  };
}

function disabledThinking(rules: ModelRules): ThinkingConfig {
  if (rules.betweenTools) return { config: { type: 'between_tools' }, on: true, honored: true };
  if (rules.alwaysThinks) return { config: ADAPTIVE, effort: 'low', on: true, honored: false };
  return { config: rules.thinksByDefault ? { type: 'disabled' } : undefined, on: false, honored: true };
}

/** Thinking counts towards the output cap, which must leave at least the minimum budget for the answer. */
function budgetedThinking(requested: string | null, outputCap: number, fits: boolean): ThinkingConfig {
  if (requested === null || requested === 'none') return { on: false, honored: true };
  const share = SHARES.get(requested);
  if (share === undefined || !fits || outputCap < 2 * BUDGET_MIN) return { on: false, honored: false };
  const budget = Math.max(BUDGET_MIN, Math.floor(outputCap * share));
  return { config: { type: 'enabled', budget_tokens: budget }, on: true, honored: true };
}
