import type { Facts } from '../../core/facts.ts';
import { countInput, decisiveTokenizers } from '../../gateway/exact-count.ts';
import type { OnRuleFailure } from '../../routing/rules.ts';
import { textsOf } from '../../routing/texts.ts';
import { type Runtime, strategyOf } from '../../runtime/runtime.ts';
import { createTokenCounter, type TokenCounter } from '../../tokenizer/counter.ts';
import { type HypotheticalRequest, hypotheticalFacts } from './hypothetical.ts';
import { UNNAMED } from './reasons.ts';
import type { BodyReader } from './request-reader.ts';

/** Returns the facts as a server would: with the prompt's exact count where its upper bound alone leaves no model. */
export async function exactFacts(
  { read, turns }: BodyReader,
  request: HypotheticalRequest,
  runtime: Runtime,
  onFailure: OnRuleFailure,
  counter: TokenCounter = createTokenCounter(() => {}),
): Promise<Facts> {
  const facts = hypotheticalFacts(read, request, runtime, onFailure);
  const outcome = runtime.decider.decide(facts, { ...UNNAMED, ...strategyOf(facts, runtime) });
  const names = decisiveTokenizers(outcome, false, runtime.snapshot);
  if (names.length === 0) return facts;
  const inputTokensCounted = await countInput(counter, names, facts, textsOf(turns));
  return hypotheticalFacts((caller) => ({ ...read(caller), inputTokensCounted }), request, runtime, onFailure);
}
