import { isAbove } from '../../core/ceiling.ts';
import type { Facts } from '../../core/facts.ts';
import { type Constraint, hasBit, type Preference } from '../../core/rules.ts';
import type { Endpoint, Model, PolicySnapshot } from '../../core/snapshot.ts';
import type { SourcePlace } from '../../core/source-place.ts';
import type { ParsedPolicy } from '../../policy/load.ts';
import { isRefusal } from '../../routing/decide.ts';
import { Evaluation } from '../../routing/evaluate.ts';
import { type DecisionInputs, judgedFigures } from '../../routing/rejections.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { CaseRun } from './cases.ts';
import type { CoverageClass } from './coverage-classes.ts';

/** A value for each class. */
export const byClass = <Value>(make: (kind: CoverageClass) => Value): Record<CoverageClass, Value> => ({
  constraints: make('constraints'),
  preferences: make('preferences'),
  models: make('models'),
  endpoints: make('endpoints'),
  selectors: make('selectors'),
});

/** A part of the policy, and whether a case covers it. */
export interface CoverageEntry {
  readonly name: string;
  readonly place: SourcePlace;
  readonly isTouched: boolean;
  /** For a rule with `when`: it was true in every case, so no case shows where it does not apply. */
  readonly isAlwaysTrue: boolean;
}

/** By class, in the policy's order of rules and by name of all others. */
export type CoverageReport = Readonly<Record<CoverageClass, readonly CoverageEntry[]>>;

interface Item {
  readonly name: string;
  readonly place: SourcePlace;
  isTouched: boolean;
  wasTrue: boolean;
  wasFalse: boolean;
}

/** The parts of a policy that its cases cover, over all settings. The order of calls, and repeats, do not matter. */
export class Coverage {
  readonly #policy: ParsedPolicy;
  readonly #items = byClass(() => new Map<string, Item>());
  readonly #evaluations = new Map<PolicySnapshot, Evaluation>();

  constructor(policy: ParsedPolicy) {
    this.#policy = policy;
  }

  /** Adds the parts that a setting can serve. Selectors that no file states are not the policy's own. */
  declare({ constraints, preferences, models, selectors }: PolicySnapshot): void {
    for (const { name, place } of constraints) this.#state('constraints', name, place);
    for (const { name, place } of preferences) this.#state('preferences', name, place);
    const { modelIds, outline } = this.#policy;
    const drafts = new Map(this.#policy.models.map(({ model, endpoints }) => [model.id, endpoints]));
    for (const model of models) {
      const place = modelIds.get(model.id);
      if (!place) continue;
      this.#state('models', model.id, place);
      for (const endpoint of model.endpoints) {
        const own = drafts.get(model.id)?.find((one) => isSame(one.endpoint, endpoint));
        this.#state('endpoints', endpointName(model, endpoint), own?.place ?? place, endpointKey(model, endpoint));
      }
    }
    const stated = new Set(Object.keys(outline.selectors ?? {}));
    for (const { name, place } of this.#policy.selectors) {
      if (stated.has(name) && selectors.has(name)) this.#state('selectors', name, place);
    }
  }

  /** Marks the parts that a case covers. Call it only for cases that hold. */
  add(run: CaseRun, { snapshot }: Runtime): void {
    for (const id of Object.keys(run.case.expect.rejected)) this.#touch('models', id);
    const { outcome } = run;
    if (outcome === null || outcome instanceof Error) return;
    const { facts } = outcome;
    // The caller's weights replace the selector's strategy.
    if (!facts.pinned && facts.weights === null) this.#touch('selectors', facts.model);
    this.#noteRules(facts, snapshot);
    const lookedAt = lookedAtBy(facts, snapshot);
    for (const at of facts.rules.constraints)
      this.#addConstraint(snapshot.constraints[at]!, lookedAt, { ...outcome, snapshot });
    if (isRefusal(outcome)) return;
    const [choice] = outcome.ranked;
    const model = snapshot.models[choice.model]!;
    this.#touch('models', model.id);
    this.#touch('endpoints', endpointKey(model, model.endpoints[choice.endpoints[0]!]!));
    // Preferences do not matter for a model that is named.
    if (!facts.pinned) this.#addPreferences(facts, { ...outcome, snapshot });
  }

  report(): CoverageReport {
    return byClass((kind) => {
      const entries = [...this.#items[kind].values()].map(({ wasTrue, wasFalse, ...item }) => ({
        ...item,
        isAlwaysTrue: wasTrue && !wasFalse,
      }));
      const isOfRules = kind === 'constraints' || kind === 'preferences';
      return isOfRules ? entries : entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  #state(kind: CoverageClass, name: string, place: SourcePlace, key = name): void {
    const items = this.#items[kind];
    if (!items.has(key)) items.set(key, { name, place, isTouched: false, wasTrue: false, wasFalse: false });
  }

  #touch(kind: CoverageClass, key: string): void {
    const item = this.#items[kind].get(key);
    if (item) item.isTouched = true;
  }

  #isTouched(kind: CoverageClass, key: string): boolean {
    return this.#items[kind].get(key)?.isTouched ?? true;
  }

  #noteRules({ rules }: Facts, { constraints, preferences }: PolicySnapshot): void {
    const note = (kind: CoverageClass, all: readonly (Constraint | Preference)[], active: readonly number[]) => {
      for (const [at, { name, when }] of all.entries()) {
        const item = this.#items[kind].get(name);
        if (!item || when === null) continue;
        if (active.includes(at)) item.wasTrue = true;
        else item.wasFalse = true;
      }
    };
    note('constraints', constraints, rules.constraints);
    note('preferences', preferences, rules.preferences);
  }

  /** A constraint is covered when it rejects a model or an endpoint of the request. */
  #addConstraint(constraint: Constraint, lookedAt: readonly Model[], asked: DecisionInputs): void {
    const { name, allows, maxLatencyMs, maxCostCredits } = constraint;
    if (allows !== null) {
      for (const model of lookedAt) {
        for (const [at, endpoint] of model.endpoints.entries()) {
          if (hasBit(allows, model.firstSlot + at)) continue;
          this.#touch('constraints', name);
          this.#touch('endpoints', endpointKey(model, endpoint));
        }
      }
    }
    if (this.#isTouched('constraints', name)) return;
    const isBeyond = (model: Model): boolean => {
      const { costCredits, latencyMs } = judgedFigures(model, 0, asked);
      return isAbove(latencyMs, maxLatencyMs) || isAbove(costCredits, maxCostCredits);
    };
    if (lookedAt.some(isBeyond)) this.#touch('constraints', name);
  }

  #addPreferences(facts: Facts, { readings, snapshot }: DecisionInputs): void {
    const open = facts.rules.preferences
      .map((at) => snapshot.preferences[at]!)
      .filter(({ name }) => !this.#isTouched('preferences', name));
    if (open.length === 0) return;
    const evaluation = this.#evaluationOf(snapshot);
    evaluation.fill(facts, readings, null);
    const { n, model } = evaluation.shortlist;
    const eligible = model.subarray(0, n);
    for (const { name, prefers } of open) {
      // A preference for all of them, or for none, changes nothing.
      const [first, ...others] = [...eligible].map((at) => hasBit(prefers, at));
      if (others.some((one) => one !== first)) this.#touch('preferences', name);
    }
  }

  #evaluationOf(snapshot: PolicySnapshot): Evaluation {
    const evaluation = this.#evaluations.get(snapshot) ?? new Evaluation(snapshot);
    this.#evaluations.set(snapshot, evaluation);
    return evaluation;
  }
}

/** Returns the models of a request before rules: the named one, or those that its selector and key allow. */
function lookedAtBy(
  { model, pinned, allowedModels }: Facts,
  { models, modelIndex, selectors }: PolicySnapshot,
): Model[] {
  if (pinned) return [models[modelIndex.get(model)!]!];
  const allows = selectors.get(model)?.allows ?? null;
  return models.filter(
    ({ id }, at) => (allows === null || hasBit(allows, at)) && (allowedModels === null || allowedModels.includes(id)),
  );
}

const isSame = (a: Pick<Endpoint, 'provider' | 'upstream'>, b: Pick<Endpoint, 'provider' | 'upstream'>): boolean =>
  a.provider === b.provider && a.upstream === b.upstream;

const endpointKey = ({ id }: Model, { provider, upstream }: Endpoint): string =>
  JSON.stringify([id, provider, upstream]);

/** `gpt-5-mini at openai-eu`; with the upstream name where the provider serves it twice. */
function endpointName({ id, endpoints }: Model, { provider, upstream }: Endpoint): string {
  const isAlone = endpoints.filter((one) => one.provider === provider).length === 1;
  return isAlone ? `${id} at ${provider}` : `${id} at ${provider} as ${upstream}`;
}
