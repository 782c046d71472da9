import { REJECTIONS } from '../../../core/decision/decision.ts';
import { type Constraint, hasBit } from '../../../core/policy/rules.ts';
import type { Model, PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { type CounterCell, counter } from '../../../host/telemetry/counts.ts';
import type { Family } from '../../../host/telemetry/families.ts';
import type { RoutingAttempt } from '../request-facts.ts';

const KINDS = Object.keys(REJECTIONS);
const CONSTRAINT = KINDS.indexOf('constraint');

/** A constraint of a policy and the models that it rejects. */
interface ConstraintFigures {
  readonly tally: CounterCell;
  /** By index of the model: 1 for a model that the constraint allows at none of its endpoints. */
  readonly against: Uint8Array;
  /** The number of models that the constraint rejects. */
  readonly models: number;
}

interface RejectionMetrics {
  count(attempt: RoutingAttempt): void;
  readonly families: readonly Family[];
}

/** Makes the metrics of the reasons why models were removed from shortlists. */
export function createRejectionMetrics(): RejectionMetrics {
  const { at, family } = counter({
    name: 'signalbox_rejections_total',
    help: 'Models that could not serve a request, by the kind of reason and the rule.',
    labels: ['kind', 'rule'],
  });
  const tallies = KINDS.map((kind) => at(kind, ''));
  const policies = new WeakMap<PolicySnapshot, readonly ConstraintFigures[]>();
  const figuresOf = ({ constraints, models }: PolicySnapshot) =>
    constraints.map((one) => constraintFigures(one, models, at('constraint', one.name)));
  return {
    families: [family],
    count({ facts, snapshot, rejections }) {
      for (let i = 0; i < tallies.length; i++) if (i !== CONSTRAINT) tallies[i]!.value += rejections[i]!;
      const { constraints } = facts.rules;
      if (constraints.length === 0) return;
      const figures = policies.getOrInsertComputed(snapshot, figuresOf);
      const named = facts.named?.map((id) => snapshot.modelIndex.get(id) ?? -1) ?? null;
      for (let i = 0; i < constraints.length; i++) {
        const { tally, against, models } = figures[constraints[i]!]!;
        tally.value += named === null ? models : named.filter((model) => against[model] === 1).length;
      }
      if (rejections[CONSTRAINT] === 0) return;
      // The models that no constraint rejected were rejected by the request's own limit on cost or time, which has no name.
      const unexplained = rejections[CONSTRAINT]! - namedOf(figures, constraints, named);
      if (unexplained > 0) tallies[CONSTRAINT]!.value += unexplained;
    },
  };
}

/**
 * Returns how many models at least one of these constraints rejects.
 * @param named the indexes of the models that the request names; null for all models
 */
function namedOf(
  all: readonly ConstraintFigures[],
  constraints: readonly number[],
  named: readonly number[] | null,
): number {
  const isRejected = (model: number) => constraints.some((at) => all[at]!.against[model] === 1);
  if (named !== null) return named.filter(isRejected).length;
  if (constraints.length === 1) return all[constraints[0]!]!.models;
  let count = 0;
  const { length } = all[0]!.against;
  for (let model = 0; model < length; model++) if (isRejected(model)) count++;
  return count;
}

function constraintFigures({ allows }: Constraint, models: readonly Model[], tally: CounterCell): ConstraintFigures {
  const against = Uint8Array.from(models, ({ firstSlot, endpoints }) =>
    allows === null || endpoints.some((_, at) => hasBit(allows, firstSlot + at)) ? 0 : 1,
  );
  return { tally, against, models: against.reduce((sum, one) => sum + one, 0) };
}
