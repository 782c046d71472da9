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
      const pinned = facts.pinned ? snapshot.modelIndex.get(facts.model) : undefined;
      for (let i = 0; i < constraints.length; i++) {
        const { tally, against, models } = figures[constraints[i]!]!;
        tally.value += pinned === undefined ? models : against[pinned]!;
      }
      if (rejections[CONSTRAINT] === 0) return;
      // The models that no constraint rejected were rejected by the request's own limit on cost or time, which has no name.
      const unexplained = rejections[CONSTRAINT]! - namedOf(figures, constraints, pinned);
      if (unexplained > 0) tallies[CONSTRAINT]!.value += unexplained;
    },
  };
}

/** Returns how many models at least one of these constraints rejects. */
function namedOf(
  all: readonly ConstraintFigures[],
  constraints: readonly number[],
  pinned: number | undefined,
): number {
  if (pinned !== undefined) return constraints.some((at) => all[at]!.against[pinned] === 1) ? 1 : 0;
  if (constraints.length === 1) return all[constraints[0]!]!.models;
  let named = 0;
  const { length } = all[0]!.against;
  for (let model = 0; model < length; model++) if (constraints.some((at) => all[at]!.against[model] === 1)) named++;
  return named;
}

function constraintFigures({ allows }: Constraint, models: readonly Model[], tally: CounterCell): ConstraintFigures {
  const against = Uint8Array.from(models, ({ firstSlot, endpoints }) =>
    allows === null || endpoints.some((_, at) => hasBit(allows, firstSlot + at)) ? 0 : 1,
  );
  return { tally, against, models: against.reduce((sum, one) => sum + one, 0) };
}
