import { type Caller, SCOPES } from '../../core/caller.ts';
import type { Facts } from '../../core/facts.ts';
import { type OnRuleFailure, type RuleInputs, withRules } from '../../routing/rules.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** A request that was never sent, without its body. */
export interface HypotheticalRequest extends Pick<RuleInputs, 'stream' | 'user' | 'metadata'> {
  readonly key: {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Models that the key may use, by ID; null for all. */
    readonly models: readonly string[] | null;
  };
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/**
 * Returns the facts of a hypothetical request, with the rules that apply to it.
 * @param read reads the facts of the body for a caller.
 * @throws SignalboxError as a request would.
 */
export function hypotheticalFacts(
  read: (caller: Caller) => Facts,
  request: HypotheticalRequest,
  runtime: Runtime,
  onFailure: OnRuleFailure = () => {},
): Facts {
  const { key, timeMs, ...inputs } = request;
  const caller: Caller = {
    keyId: key.id,
    scopes: new Set(SCOPES),
    labels: key.labels,
    models: key.models === null ? null : new Set(key.models),
    limits: null,
    budgets: [],
  };
  const rules = () => ({ ...inputs, caller, time: runtime.localTime(timeMs) });
  return withRules(read(caller), runtime.snapshot, rules, onFailure);
}
