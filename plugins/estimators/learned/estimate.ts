import {
  type Estimator,
  type EstimatorCatalog,
  type Finding,
  type Inquiry,
  type Known,
  logitOf,
  moved,
  type Outcome,
  sigmoid,
  type TellingWord,
} from 'signalbox/plugin';
import { Features } from './features.ts';
import { familiarity, ownPace, pace, trustIn } from './means.ts';
import { type Memory, type ModelMemory, SHARED_PART, type TaskMemory } from './memory.ts';
import { information, type Priors, priorsOf, type Worth } from './priors.ts';
import { tellingWords } from './telling.ts';
import type { Scanner } from './text.ts';

/** How the parts of an estimate are weighed. */
export interface Settings {
  /** δ: by how much a question that is one deviation longer lowers the log odds of every model. */
  readonly length: number;
  /** κ: how many standard deviations beyond chance the words must be right before they are trusted. */
  readonly doubt: number;
  /** n0: how many outcomes a declared quality counts as, by where it comes from. */
  readonly worth: Worth;
}

/** A known model's place in the catalog. */
interface Placed {
  readonly at: number;
  readonly memory: ModelMemory;
}

/** Stands for all tasks that nothing is declared for; a task cannot be called so. */
const UNDECLARED = '*';

/** The most that an outcome is multiplied for having been unlikely to come. */
const IMPORTANCE_MAX = 4;

/** The memory as one catalog sees it. */
export class CatalogEstimator implements Estimator {
  readonly #memory: Memory;
  readonly #catalog: EstimatorCatalog;
  readonly #settings: Settings;
  readonly #scanner: Scanner;
  readonly #priors: Priors;
  readonly #features = new Features();
  /** By task: whether any model has a figure of its own for it. */
  readonly #declares: readonly boolean[];
  #placed: readonly Placed[] = [];
  #version = -1;

  constructor(memory: Memory, catalog: EstimatorCatalog, settings: Settings, scanner: Scanner) {
    this.#memory = memory;
    this.#catalog = catalog;
    this.#settings = settings;
    this.#scanner = scanner;
    this.#priors = priorsOf(catalog, settings.worth);
    this.#declares = catalog.tasks.map((_, task) => catalog.models.some(({ stated }) => stated[task] === 1));
  }

  /**
   * z = logit(declared) + Δb + Δo + D + t_s·(s − s̄) + t_v·(v − v̄): what outcomes add of the model and of the model at
   * the task, what the length adds, and what the words add of all models and of this one, about their running means.
   */
  estimate(inquiry: Inquiry, into: Finding, seen: boolean): void {
    const { features: bytes, task: taskAt, declared, lengthAlone = false } = inquiry;
    const features = this.#features;
    const hasText = features.unpack(bytes);
    const name = this.#taskName(taskAt);
    const task = this.#memory.tasks.get(name);
    const group = hasText && seen ? this.#memory.meet(this.#groupName(taskAt)) : this.#group(taskAt);
    into.length = hasText ? this.#lengthOf(group) : 0;
    if (lengthAlone) {
      // Nobody has read the words, so the means of what they say stay where they are.
      if (group && hasText && seen) note(group, features.length, group.shared);
      return;
    }
    const toShared = hasText ? this.#trustInShared(group) : 0;
    const toOwn = hasText ? this.#trustInOwn(group) : 0;
    const shared = hasText ? (this.#memory.shared?.dot(features) ?? 0) : 0;
    into.trust = Math.max(toShared, toOwn);
    into.outcomes.fill(0);
    into.counts.fill(0);
    const common = toShared * (shared - (group?.shared ?? 0));
    into.text.fill(common);
    for (const { at, memory } of this.#known()) {
      into.outcomes[at] = this.#outcomesOf(memory, at, taskAt, task);
      const tally = task && memory.tasks[task.index];
      if (tally) into.counts[at] = tally.count;
      if (!hasText || !memory.own) continue;
      const own = memory.own.weights.dot(features);
      const centres = memory.own.centres;
      const centre = group ? centres[group.index]! : 0;
      into.text[at] = common + toOwn * (own - centre);
      if (group && seen) centres[group.index] = centre + pace(group.seen) * (own - centre);
    }
    if (group && hasText && seen) note(group, features.length, shared);
    const { quality, length, outcomes, text } = into;
    for (let at = 0; at < quality.length; at++) quality[at] = moved(declared[at]!, length + outcomes[at]! + text[at]!);
  }

  /**
   * One step of a diagonal Bayesian logistic regression for the words, and of the posterior means for what is declared.
   * Both go by the estimate from before the outcome, with the words trusted in full.
   */
  learn(outcome: Outcome): number {
    checkOutcome(outcome);
    const { model: at, task: taskAt, declared, score, weight, probability, among } = outcome;
    const features = this.#features;
    const hasText = features.unpack(outcome.features);
    const task = this.#memory.meet(this.#taskName(taskAt));
    const group = this.#memory.meet(this.#groupName(taskAt));
    const model = this.#memory.teach(this.#catalog.models[at]!.id, hasText);
    const outcomes = this.#outcomesOf(model, at, taskAt, task);
    const length = hasText ? this.#lengthOf(group) : 0;
    const shared = hasText ? (this.#memory.shared?.dot(features) ?? 0) - group.shared : 0;
    const own = hasText && model.own ? model.own.weights.dot(features) - model.own.centres[group.index]! : 0;
    // In single precision, as `estimate` hands it out.
    const text = Math.fround(this.#trustInShared(group) * shared + this.#trustInOwn(group) * own);
    const before = moved(declared, length + Math.fround(outcomes) + text);
    const plain = logitOf(declared) + outcomes + length;
    if (hasText) this.#noteEvidence(group, plain, shared, own, score, weight);
    const p = sigmoid(plain + shared + own);
    const told = information(p);
    const error = score - p;
    if (hasText) {
      const importance = weight * Math.min(IMPORTANCE_MAX, 1 / (among * probability));
      this.#learnWords(model, importance * error, importance * told);
    }
    const { general, generalMass, offset, offsetMass } = this.#priors.of(at, taskAt);
    model.all.note(general, generalMass, error, told, weight);
    this.#memory.tallyOf(model, task).note(offset, offsetMass, error, told, weight);
    return before;
  }

  known(): Known[] {
    return this.#known().flatMap(({ at, memory }) => {
      const { id, general, quality } = this.#catalog.models[at]!;
      const prior = this.#priors.of(at, 0);
      const learnt = moved(general, memory.all.shift(prior.general, prior.generalMass));
      const all: Known = { model: id, task: null, outcomes: memory.all.count, declared: general, learnt };
      const byTask = this.#catalog.tasks.flatMap((name, taskAt): Known[] => {
        const task = this.#memory.tasks.get(name);
        const tally = task && memory.tasks[task.index];
        if (!tally) return [];
        const declared = quality[taskAt]!;
        const shift = this.#outcomesOf(memory, at, taskAt, task);
        return [{ model: id, task: name, outcomes: tally.count, declared, learnt: moved(declared, shift) }];
      });
      return [all, ...byTask];
    });
  }

  telling(text: string, taskAt: number, model: number, most: number): TellingWord[] {
    const group = this.#group(taskAt);
    const own = this.#memory.models.get(this.#catalog.models[model]!.id)?.own?.weights ?? null;
    return tellingWords(this.#scanner, text, most, [
      { weights: this.#memory.shared, trust: this.#trustInShared(group) },
      { weights: own, trust: this.#trustInOwn(group) },
    ]);
  }

  #taskName(at: number): string {
    return this.#catalog.tasks[at]!;
  }

  /**
   * What length and words are centred about, and trusted for: a task that the policy declares figures for is by itself, for
   * there words may tell no more than how requests of the task differ. All others are together: what words tell of
   * their difference, nobody has declared.
   */
  #groupName(taskAt: number): string {
    return this.#declares[taskAt] ? this.#taskName(taskAt) : UNDECLARED;
  }

  #group(taskAt: number): TaskMemory | undefined {
    return this.#memory.tasks.get(this.#groupName(taskAt));
  }

  /** The models of the catalog that outcomes are known of. */
  #known(): readonly Placed[] {
    if (this.#version === this.#memory.version) return this.#placed;
    this.#version = this.#memory.version;
    this.#placed = this.#catalog.models.flatMap(({ id }, at) => {
      const memory = this.#memory.models.get(id);
      return memory ? [{ at, memory }] : [];
    });
    return this.#placed;
  }

  /** Δb + Δo: how far the posterior means are from what is declared. */
  #outcomesOf(model: ModelMemory, at: number, taskAt: number, task: TaskMemory | undefined): number {
    const { general, generalMass, offset, offsetMass } = this.#priors.of(at, taskAt);
    const tally = task && model.tasks[task.index];
    return model.all.shift(general, generalMass) + (tally ? tally.shift(offset, offsetMass) : 0);
  }

  #lengthOf(group: TaskMemory | undefined): number {
    if (!group) return 0;
    // Without the 0 a text of usual length would add −0.
    return 0 - this.#settings.length * familiarity(group.seen) * (this.#features.length - group.length);
  }

  #trustInShared(group: TaskMemory | undefined): number {
    return trustIn(group?.sharedEvidence ?? null, this.#memory.sharedEvidence, this.#settings.doubt);
  }

  #trustInOwn(group: TaskMemory | undefined): number {
    return trustIn(group?.ownEvidence ?? null, this.#memory.ownEvidence, this.#settings.doubt);
  }

  #noteEvidence(group: TaskMemory, plain: number, shared: number, own: number, score: number, weight: number): void {
    group.sharedEvidence.note(shared, plain, score, weight);
    this.#memory.sharedEvidence.note(shared, plain, score, weight);
    group.ownEvidence.note(own, plain + shared, score, weight);
    this.#memory.ownEvidence.note(own, plain + shared, score, weight);
  }

  #learnWords({ own }: ModelMemory, error: number, information: number): void {
    if (!own) return;
    const features = this.#features;
    const shared = this.#memory.sharedWeights();
    this.#memory.changed.add(SHARED_PART);
    const variance = own.weights.variance(features) + shared.variance(features);
    const e = error / (1 + information * variance);
    own.weights.step(features, e, information);
    shared.step(features, e, information);
  }
}

/** A request of these tasks was seen: the running means move. */
function note(group: TaskMemory, length: number, shared: number): void {
  group.length += ownPace(group.seen) * (length - group.length);
  group.shared += pace(group.seen) * (shared - group.shared);
  group.seen++;
}

/** One figure that is no number would spoil all that was learnt. */
function checkOutcome({ score, declared, weight, probability, among }: Outcome): void {
  const within = (name: string, value: number, from: number, to: number): void => {
    if (!(value >= from && value <= to)) throw new RangeError(`${name} is ${value}, and must be ${from} to ${to}`);
  };
  within('score', score, 0, 1);
  within('declared', declared, 0, 1);
  within('weight', weight, Number.MIN_VALUE, 1);
  within('probability', probability, Number.MIN_VALUE, 1);
  within('among', among, 1, Number.MAX_SAFE_INTEGER);
}
