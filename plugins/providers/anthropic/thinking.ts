import type { ProviderCall } from 'signalbox/plugin';
import { isObject } from '../json.ts';
import type { Rules } from './models.ts';

/** The least budget that the API takes, tokens. */
const BUDGET_MIN = 1_024;

/** Parts of the output cap that thoughts may take: OpenRouter's, which many callers know. */
const SHARES: ReadonlyMap<string, number> = new Map([
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.95],
  ['max', 0.95],
]);

/** OpenAI's efforts in Anthropic's words. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'xhigh'],
  ['max', 'max'],
]);

/** Thoughts are hidden by most models unless one asks to read them. */
const ADAPTIVE = { type: 'adaptive', display: 'summarized' } as const;

export interface Thinking {
  /** The request's `thinking`; left to the model where undefined. */
  readonly config?: unknown;
  /** The request's `output_config.effort`. */
  readonly effort?: string;
  /** The model may think, so that sampling cannot be steered. */
  readonly on: boolean;
  /** False where `reasoning_effort` asks for what cannot be had. */
  readonly heeded: boolean;
}

/** How much to think. `fits` is false for a request with which thoughts of a set budget cannot go together. */
export function thinkingFor(
  { request, extras, model, outputCap }: ProviderCall,
  rules: Rules,
  fits: boolean,
): Thinking {
  const asked = request.reasoning_effort ?? null;
  if (isObject(extras.thinking)) {
    return { config: extras.thinking, on: extras.thinking.type !== 'disabled', heeded: asked === null };
  }
  if (!model.capabilities.includes('reasoning')) return { on: false, heeded: asked === null };
  return rules.adaptive ? adaptive(asked, rules) : budgeted(asked, outputCap, fits);
}

function adaptive(asked: string | null, rules: Rules): Thinking {
  if (asked === 'none') return without(rules);
  const effort = EFFORTS.get(asked ?? '');
  const on = rules.thinksUnasked || effort !== undefined;
  return {
    config: on ? ADAPTIVE : undefined,
    effort: effort === 'xhigh' && !rules.xhigh ? 'high' : effort,
    on,
    heeded: asked === null || effort !== undefined,
  };
}

function without(rules: Rules): Thinking {
  if (rules.betweenTools) return { config: { type: 'between_tools' }, on: true, heeded: true };
  if (rules.alwaysThinks) return { config: ADAPTIVE, effort: 'low', on: true, heeded: false };
  return { config: rules.thinksUnasked ? { type: 'disabled' } : undefined, on: false, heeded: true };
}

/** Thoughts count towards the output cap: it must leave as much for the answer as they need at least. */
function budgeted(asked: string | null, outputCap: number, fits: boolean): Thinking {
  if (asked === null || asked === 'none') return { on: false, heeded: true };
  const share = SHARES.get(asked);
  if (share === undefined || !fits || outputCap < 2 * BUDGET_MIN) return { on: false, heeded: false };
  const budget = Math.max(BUDGET_MIN, Math.floor(outputCap * share));
  return { config: { type: 'enabled', budget_tokens: budget }, on: true, heeded: true };
}
