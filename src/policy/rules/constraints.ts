import { closed, figure, list, optional } from '../../core/define/fields.ts';
import { expression, itemName, needsOneOf, policyAmount } from '../../core/define/policy-words.ts';
import { creditsAt } from '../check/amounts.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { checkNeeded } from '../check/key-rules.ts';
import { checkList } from '../check/section-checks.ts';
import { type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import { inSteps } from '../report/steps.ts';
import { amountContext } from '../sections/credits.ts';
import { placeAt } from '../yaml/tree.ts';
import { type CheckedRule, draftRule, RULE_NAME, when } from './rule-draft.ts';

const ConstraintText = closed(
  'A hard rule, which rejects models and endpoints. State at least one of `require`, `max_latency_ms` and `max_cost_credits`.',
  {
    name: itemName(RULE_NAME, 'legal-stays-in-the-eu'),
    when,
    require: optional(
      expression(
        'Condition that a model and its endpoint must satisfy: CEL over `model` and `endpoint`.',
        '"eu" in endpoint.regions',
        '"private" in model.tags',
        'model.price.output <= 5.0',
      ),
    ),
    max_latency_ms: optional(
      figure('The longest acceptable expected time to the end of the answer, in ms.', {
        exclusiveMinimum: 0,
        maximum: 86_400_000,
        example: 5000,
      }),
    ),
    max_cost_credits: optional(
      policyAmount(
        { exclusiveMinimum: 0, maximum: 1_000_000_000, example: 2.5 },
        'The highest acceptable expected cost: Credits, or a text such as `0.02 USD`.',
        '0.02 USD',
      ),
    ),
  },
  needsOneOf('require', 'max_latency_ms', 'max_cost_credits'),
);

/** A constraint whose expressions are not checked yet. */
type ConstraintDraft = ReturnType<typeof draftConstraints>[number];
export type CheckedConstraint = CheckedRule<ConstraintDraft, 'require'>;

/** The section `constraints`. The snapshot has the constraints with the models that they allow. */
export const CONSTRAINTS = defineSection({
  name: 'constraints',
  text: list(ConstraintText, 'Hard rules, which reject models and endpoints.'),
  guard: ORDINARY,
  page: ['Choose', 'language.md#constraints-and-preferences'],
  draft: draftConstraints,
  *compile(drafts, { check }): Generator<undefined, readonly CheckedConstraint[]> {
    return yield* inSteps(drafts, (draft) => ({
      draft,
      when: check.condition(draft.when, 'when'),
      require: check.of(draft.require, 'constraint'),
    }));
  },
});

function draftConstraints(stated: DraftContext) {
  const context = amountContext(stated);
  return checkList('constraints', ConstraintText, context).map((named) => {
    const { data, tree } = named;
    const require = expressionAt(named, 'require');
    const maxLatencyMs = data?.max_latency_ms ?? null;
    const { max_cost_credits: amount } = ConstraintText.properties;
    const maxCostCredits = creditsAt(amount, named, 'max_cost_credits', context);
    if (data) checkNeeded(ConstraintText, { ...named, place: placeAt(tree, 'name') }, context.report);
    return { ...draftRule(named), require, maxLatencyMs, maxCostCredits };
  });
}
