import { shownCredits } from '../../core/money/ceiling.ts';
import type { Diagnostic, SourceSpan } from '../diagnostics.ts';
import { Report } from '../report.ts';
import { NEARLY_BEST } from './reference-price.ts';

/** The selector whose name promises low cost. */
export const CHEAP_SELECTOR = 'auto-cheap';

/** The most tasks that one warning lists. */
const LISTED_MAX = 3;

/** A task for which `auto-cheap` chooses an expensive model. */
export interface CostlyTask {
  readonly task: string;
  readonly model: string;
  readonly credits: number;
  /** The cheapest model that is nearly as good as the best model for the task. */
  readonly cheapest: string;
  readonly leastCredits: number;
}

/** The expensive choices of a policy. */
export interface CostlyChoices {
  readonly tasks: readonly CostlyTask[];
  /** The location of the stated reference price, or otherwise of the selector. */
  readonly place: SourceSpan;
  /** Whether the policy states its reference price. */
  readonly statesReference: boolean;
}

/** Warns if `auto-cheap` chooses expensive models. */
export function costlyDiagnostics({ tasks, place, statesReference }: CostlyChoices): readonly Diagnostic[] {
  if (tasks.length === 0) return [];
  const listed = tasks
    .slice(0, LISTED_MAX)
    .map(
      ({ task, model, credits, cheapest, leastCredits }) =>
        `\`${model}\` for ${task} (${shownCredits(credits)} Credits; \`${cheapest}\` costs ${shownCredits(leastCredits)})`,
    );
  const others = tasks.length - listed.length;
  const more = others > 0 ? `, and for ${others} more tasks` : '';
  const remedy = statesReference
    ? 'lower `reference_price`, or remove it, so that the prices of your models set the scale'
    : `lower \`answer_worth\`, or raise the \`emphasis\` of \`${CHEAP_SELECTOR}\``;
  const report = new Report();
  report.add('costly-choice', place, `\`${CHEAP_SELECTOR}\` chooses expensive models: ${listed.join(', ')}${more}`, {
    hint: `${remedy}. The cheaper models are at most ${NEARLY_BEST} below the best quality; \`policy check --choices\` shows all choices`,
  });
  return report.found;
}
