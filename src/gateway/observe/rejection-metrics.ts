import { REJECTIONS } from '../../core/decision.ts';
import { type Constraint, hasBit } from '../../core/rules.ts';
import type { Model, PolicySnapshot } from '../../core/snapshot.ts';
import { type CounterCell, counter } from '../../telemetry/counts.ts';
import type { Family } from '../../telemetry/families.ts';
import type { Judged } from './observation.ts';

const KINDS = Object.keys(REJECTIONS);
const CONSTRAINT = KINDS.indexOf('constraint');

/** A constraint of a policy, with what it has against models. */
interface Objection {
  readonly tally: CounterCell;
  /** By index of the model, 1 for those that it allows at none of their endpoints. */
  readonly against: Uint8Array;
  /** How many those are. */
  readonly models: number;
}

export interface RejectionMetrics {
  count(judged: Judged): void;
  readonly families: readonly Family[];
}

/** Why models were taken off shortlists. */
export function createRejectionMetrics(): RejectionMetrics {
  const { at, family } = counter({
    name: 'signalbox_rejections_total',
    help: 'Models rejected from shortlists, by reason; constraints by rule.',
    labels: ['kind', 'rule'],
  });
  const tallies = KINDS.map((kind) => at(kind, ''));
  const policies = new WeakMap<PolicySnapshot, readonly Objection[]>();
  const objectionsOf = (snapshot: PolicySnapshot): readonly Objection[] => {
    let objections = policies.get(snapshot);
    if (!objections) {
      objections = snapshot.constraints.map((one) => objectionOf(one, snapshot.models, at('constraint', one.name)));
      policies.set(snapshot, objections);
    }
    return objections;
  };
  return {
    families: [family],
    count({ facts, snapshot, rejections }) {
      for (let i = 0; i < tallies.length; i++) if (i !== CONSTRAINT) tallies[i]!.value += rejections[i]!;
      const { constraints } = facts.rules;
      if (constraints.length === 0) return;
      const objections = objectionsOf(snapshot);
      const pinned = facts.pinned ? snapshot.modelIndex.get(facts.model) : undefined;
      for (let i = 0; i < constraints.length; i++) {
        const { tally, against, models } = objections[constraints[i]!]!;
        tally.value += pinned === undefined ? models : against[pinned]!;
      }
      // A ceiling of costs or of time is on the request: whose it was nobody has noted.
      const unexplained = rejections[CONSTRAINT]! - namedOf(objections, constraints, pinned);
      if (unexplained > 0) tallies[CONSTRAINT]!.value += unexplained;
    },
  };
}

/** Models that any of these constraints has something against, each once though several have. */
function namedOf(all: readonly Objection[], constraints: readonly number[], pinned: number | undefined): number {
  if (pinned !== undefined) return constraints.some((at) => all[at]!.against[pinned] === 1) ? 1 : 0;
  if (constraints.length === 1) return all[constraints[0]!]!.models;
  let named = 0;
  const { length } = all[0]!.against;
  for (let model = 0; model < length; model++) if (constraints.some((at) => all[at]!.against[model] === 1)) named++;
  return named;
}

function objectionOf({ allows }: Constraint, models: readonly Model[], tally: CounterCell): Objection {
  const against = Uint8Array.from(models, ({ firstSlot, endpoints }) =>
    allows === null || endpoints.some((_, at) => hasBit(allows, firstSlot + at)) ? 0 : 1,
  );
  return { tally, against, models: against.reduce((sum, one) => sum + one, 0) };
}
