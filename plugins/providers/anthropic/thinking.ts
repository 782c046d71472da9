import type { Members, ProviderCall } from 'signalbox/plugin';
import { isObject } from '../json.ts';
import type { ModelRules } from './models.ts';

/** The minimum thinking budget that the API accepts, in tokens. */
const BUDGET_MIN = 1_024;

/** The share of the output cap for thinking by effort. OpenRouter uses the same shares, which many callers know. */
const SHARES: ReadonlyMap<string, number> = new Map([
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.95],
  ['max', 0.95],
]);

/** Most models hide their thinking unless the request asks for a summary. */
const ADAPTIVE = { type: 'adaptive', display: 'summarized' } as const;

export interface ThinkingConfig {
  /** The request's `thinking`; undefined lets the model decide. */
  readonly config?: unknown;
  /** The request's `output_config.effort`. */
  readonly effort?: string;
  /** Whether the model may think, which excludes sampling controls. */
  readonly on: boolean;
  /** False if the model cannot reason with the requested `reasoning_effort`. */
  readonly honored: boolean;
}

/** The properties of a request that determine whether it can request thinking. */
interface ThinkingLimits {
  /** Whether the request forces a tool call, which the API rejects together with thinking. */
  readonly isForced: boolean;
  /** Whether thinking with a budget can start at this point of the conversation. */
  readonly canStart: boolean;
}

/** Translates the effort to Anthropic's settings. */
export function thinkingFor(call: ProviderCall, rules: ModelRules, limits: ThinkingLimits): ThinkingConfig {
  const { request, extras, model, outputCap } = call;
  const requested = request.settings.reasoningEffort ?? null;
  if (isObject(extras.thinking)) {
    // The API compares a budget with the caller's own cap. If the caller sets no cap, the adapter lowers only a thinking budget that does
    // not fit.
    const { outputTokensMax: stated } = request.settings;
    const isLowered = stated === undefined ? !isBelow(outputCap, extras.thinking) : outputCap !== stated;
    const config = isLowered ? thinkingBelow(outputCap, extras.thinking) : extras.thinking;
    const on = config !== null && config.type !== 'disabled';
    return { config: config ?? undefined, on, honored: requested === null };
  }
  if (!model.capabilities.includes('reasoning')) return { on: false, honored: requested === null };
  if (!rules.adaptive) return budgetedThinking(requested, outputCap, !limits.isForced && limits.canStart);
  const adaptive = adaptiveThinking(requested, rules);
  // If the caller does not request thinking, the model decides whether to think.
  return limits.isForced && adaptive.config === ADAPTIVE ? { ...adaptive, config: undefined } : adaptive;
}

/**
 * Returns the caller's `thinking` for a lowered output cap. The thinking budget takes at most half of the cap, so that room for an answer
 * remains. Returns null if the cap leaves no room for thinking.
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
  // Anthropic's API has no effort `minimal`.
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

/** Thinking counts towards the output cap, so the cap must leave at least the minimum budget for the answer. */
function budgetedThinking(requested: string | null, outputCap: number, fits: boolean): ThinkingConfig {
  if (requested === null || requested === 'none') return { on: false, honored: true };
  const share = SHARES.get(requested);
  if (share === undefined || !fits || outputCap < 2 * BUDGET_MIN) return { on: false, honored: false };
  const budget = Math.max(BUDGET_MIN, Math.floor(outputCap * share));
  return { config: { type: 'enabled', budget_tokens: budget }, on: true, honored: true };
}
