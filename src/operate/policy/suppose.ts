import { type Caller, SCOPES } from '../../core/caller.ts';
import type { Facts } from '../../core/facts.ts';
import { type OnRuleFailure, type RuleInputs, withRules } from '../../routing/rules.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** A request as it might come, beside its body: nobody has sent it. */
export interface Supposed extends Pick<RuleInputs, 'stream' | 'user' | 'metadata'> {
  readonly key: {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
    /** IDs of the models that it may use; null for all. */
    readonly models: readonly string[] | null;
  };
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/** The facts of such a request, with the rules that apply to it. Throws SignalboxError as a request would. */
export function suppose(
  read: (caller: Caller) => Facts,
  supposed: Supposed,
  runtime: Runtime,
  onFailure: OnRuleFailure = () => {},
): Facts {
  const { key, timeMs, ...inputs } = supposed;
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
