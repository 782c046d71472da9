import { isAbove } from '../../../core/money/ceiling.ts';
import { mayChoose } from '../../../core/policy/found-models.ts';
import { modelOf } from '../../../core/policy/model-of.ts';
import { type Constraint, hasBit } from '../../../core/policy/rules.ts';
import type { Model, PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { Facts } from '../../../core/request/facts.ts';
import type { SourcePlace } from '../../../core/source-place.ts';
import type { ParsedPolicy } from '../../../policy/load.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { Evaluation } from '../../../routing/evaluate.ts';
import { allowsModel } from '../../../routing/model-name.ts';
import { type DecisionInputs, judgedFigures } from '../../../routing/rejections.ts';
import type { CaseRun } from './cases.ts';

/** The kinds of policy parts that cases can cover. */
type PartKind = 'constraint' | 'preference' | 'model';

/** A part of the policy, and whether a case covers it. */
interface CoverageEntry {
  readonly kind: PartKind;
  readonly name: string;
  readonly place: SourcePlace;
  isTouched: boolean;
}

export type CoverageReport = readonly Readonly<CoverageEntry>[];

/** Finds which rules and models of a policy its cases cover, over all settings. The order of calls and repeated calls do not matter. */
export class Coverage {
  readonly #modelIds: ReadonlyMap<string, SourcePlace>;
  readonly #entries = new Map<string, CoverageEntry>();
  readonly #evaluations = new Map<PolicySnapshot, Evaluation>();

  constructor({ drafts }: Pick<ParsedPolicy, 'drafts'>) {
    this.#modelIds = drafts.models.ids;
  }

  /** Adds the rules and models that can be served in a setting. */
  declare({ constraints, preferences, models }: PolicySnapshot): void {
    for (const { name, place } of constraints) this.#state('constraint', name, place);
    for (const { name, place } of preferences) this.#state('preference', name, place);
    for (const { id } of models) {
      const place = this.#modelIds.get(id);
      if (place) this.#state('model', id, place);
    }
  }

  /** Marks the rules and models that a case covers. The caller must pass only cases that hold. */
  add(run: CaseRun, { snapshot }: Runtime): void {
    for (const id of Object.keys(run.case.expect.rejected)) this.#touch('model', id);
    const { outcome } = run;
    if (outcome === null || outcome instanceof Error) return;
    const { facts } = outcome;
    const lookedAt = lookedAtBy(facts, snapshot);
    for (const at of facts.rules.constraints)
      this.#addConstraint(snapshot.constraints[at]!, lookedAt, { ...outcome, snapshot });
    if (isRefusal(outcome)) return;
    this.#touch('model', snapshot.models[outcome.ranked[0].model]!.id);
    // If a request names a model, preferences have no effect.
    if (facts.named === null) this.#addPreferences(facts, { ...outcome, snapshot });
  }

  /** Returns the rules and models in the order of the settings. */
  report(): CoverageReport {
    return [...this.#entries.values()];
  }

  #state(kind: PartKind, name: string, place: SourcePlace): void {
    const key = keyOf(kind, name);
    if (!this.#entries.has(key)) this.#entries.set(key, { kind, name, place, isTouched: false });
  }

  #touch(kind: PartKind, name: string): void {
    const entry = this.#entries.get(keyOf(kind, name));
    if (entry) entry.isTouched = true;
  }

  #isTouched(kind: PartKind, name: string): boolean {
    return this.#entries.get(keyOf(kind, name))?.isTouched ?? true;
  }

  /** A constraint is covered if it rejects a model or an endpoint of the request. */
  #addConstraint(constraint: Constraint, lookedAt: readonly Model[], asked: DecisionInputs): void {
    const { name, allows, maxLatencyMs, maxCostCredits } = constraint;
    if (this.#isTouched('constraint', name)) return;
    const isBeyond = (model: Model): boolean => {
      if (allows !== null && model.endpoints.some((_, at) => !hasBit(allows, model.firstSlot + at))) return true;
      const { costCredits, latencyMs } = judgedFigures(model, 0, asked);
      return isAbove(latencyMs, maxLatencyMs) || isAbove(costCredits, maxCostCredits);
    };
    if (lookedAt.some(isBeyond)) this.#touch('constraint', name);
  }

  #addPreferences(facts: Facts, { readings, snapshot }: DecisionInputs): void {
    const open = facts.rules.preferences
      .map((at) => snapshot.preferences[at]!)
      .filter(({ name }) => !this.#isTouched('preference', name));
    if (open.length === 0) return;
    const evaluation = this.#evaluationOf(snapshot);
    evaluation.fill(facts, readings);
    const { n, model } = evaluation.shortlist;
    const eligible = model.subarray(0, n);
    for (const { name, prefers } of open) {
      // A preference for all eligible models, or for none, does not change the choice.
      const [first, ...others] = [...eligible].map((at) => hasBit(prefers, at));
      if (others.some((one) => one !== first)) this.#touch('preference', name);
    }
  }

  #evaluationOf(snapshot: PolicySnapshot): Evaluation {
    const evaluation = this.#evaluations.get(snapshot) ?? new Evaluation(snapshot);
    this.#evaluations.set(snapshot, evaluation);
    return evaluation;
  }
}

/** A rule and a model may have the same name. */
const keyOf = (kind: PartKind, name: string): string => `${kind} ${name}`;

/** Returns the models that a request considers before rules apply: the named model, or the models that its selector and key allow. */
function lookedAtBy({ model, named, ...facts }: Facts, snapshot: PolicySnapshot): readonly Model[] {
  const { models, selectors } = snapshot;
  if (named !== null) return named.map((id) => modelOf(id, snapshot));
  const selector = selectors.get(model) ?? { allows: null };
  return models.filter((one, at) => mayChoose(selector, one, at) && allowsModel(facts, one.id));
}

/** Sums up a report in the form of answers, and compares it with the least percentage; null for no minimum. */
export function summaryOf(report: CoverageReport, min: number | null) {
  const untouched = report.filter(({ isTouched }) => !isTouched);
  const [total, touched] = [report.length, report.length - untouched.length];
  return {
    touched,
    total,
    // Rounded down to a tenth; 100 if there are no rules and models.
    percent: total === 0 ? 100 : Math.floor((touched * 1000) / total) / 10,
    min,
    // The comparison uses whole numbers. A rounded percentage could accept too low a coverage.
    enough: min === null || touched * 100 >= min * total,
    untouched: untouched.map(({ kind, name, place: { file, line, column } }) => ({ kind, name, file, line, column })),
  };
}
