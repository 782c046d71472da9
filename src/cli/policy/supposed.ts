import type { Facts } from '../../core/facts.ts';
import { countInput, decisiveTokenizers } from '../../gateway/exact-count.ts';
import { UNNAMED } from '../../operate/policy/reasons.ts';
import { type Supposed, suppose } from '../../operate/policy/suppose.ts';
import type { OnRuleFailure } from '../../routing/rules.ts';
import { textsOf } from '../../routing/texts.ts';
import { type Runtime, strategyOf } from '../../runtime/runtime.ts';
import { createTokenCounter, type TokenCounter } from '../../tokenizer/counter.ts';
import type { Read } from './explain-body.ts';

/** As a server would have them: where only the bound of the prompt leaves no model, with its exact count. */
export async function supposed(
  { read, messages }: Read,
  who: Supposed,
  runtime: Runtime,
  onFailure: OnRuleFailure,
  counter: TokenCounter = createTokenCounter(() => {}),
): Promise<Facts> {
  const facts = suppose(read, who, runtime, onFailure);
  const outcome = runtime.decider.decide(facts, { ...UNNAMED, ...strategyOf(facts, runtime) });
  const names = decisiveTokenizers(outcome, false, runtime.snapshot);
  if (names.length === 0) return facts;
  const inputTokensCounted = await countInput(counter, names, facts, textsOf(messages));
  return suppose((caller) => ({ ...read(caller), inputTokensCounted }), who, runtime, onFailure);
}
