import {
  type Estimator,
  type EstimatorCatalog,
  type Finding,
  type Inquiry,
  logitOf,
  type ModelKnowledge,
  moved,
  type Outcome,
  sigmoid,
  type TellingWord,
} from 'signalbox/plugin';
import { TextFeatures } from './features.ts';
import { familiarity, meanRate, ownMeanRate, trustOf } from './means.ts';
import { type LearnedMemory, type ModelMemory, SHARED_PART, type TaskMemory } from './memory.ts';
import { type DeclaredOutcomes, information, type Priors, priorsOf } from './priors.ts';
import type { Scanner } from './scanner.ts';
import { tellingWords } from './telling.ts';

/** The weights of the parts of an estimate. */
export interface EstimatorSettings {
  /** δ: how much a question one standard deviation longer lowers the log odds of every model. */
  readonly length: number;
  /** κ: how many standard deviations beyond chance the words must be right to be trusted. */
  readonly doubt: number;
  /** n0: the weight of a declared quality in outcomes, by its basis. */
  readonly declaredOutcomes: DeclaredOutcomes;
}

/** Stands for all tasks without declared qualities. No task can have this name. */
const UNDECLARED = '*';

/** The maximum factor for an outcome of an improbable choice. */
const IMPORTANCE_MAX = 4;

/** Estimates from a memory in the order of one catalog. */
export class CatalogEstimator implements Estimator {
  readonly #memory: LearnedMemory;
  readonly #catalog: EstimatorCatalog;
  readonly #settings: EstimatorSettings;
  readonly #scanner: Scanner;
  readonly #priors: Priors;
  readonly #features = new TextFeatures();
  /** By task: whether any model declares a quality of its own for it. */
  readonly #declares: readonly boolean[];
  /** The models with outcomes, and their indexes in the catalog. */
  #knownModels: readonly { readonly at: number; readonly memory: ModelMemory }[] = [];
  #version = -1;

  constructor(memory: LearnedMemory, catalog: EstimatorCatalog, settings: EstimatorSettings, scanner: Scanner) {
    this.#memory = memory;
    this.#catalog = catalog;
    this.#settings = settings;
    this.#scanner = scanner;
    this.#priors = priorsOf(catalog, settings.declaredOutcomes);
    this.#declares = catalog.tasks.map((_, task) => catalog.models.some(({ stated }) => stated[task] === 1));
  }

  /**
   * z = logit(declared) + Δb + Δo + D + t_s·(s − s̄) + t_v·(v − v̄): the shifts by the outcomes of the model and of the
   * model at the task, the shift by the length, and the shifts by the shared and the model's own words, centred on
   * their running means.
   */
  estimate(inquiry: Inquiry, into: Finding, isCounted: boolean): void {
    const { features: bytes, task: taskAt, declared, lengthAlone = false } = inquiry;
    const features = this.#features;
    const hasText = features.unpackLength(bytes);
    const task = this.#memory.tasks.get(this.#taskName(taskAt));
    const group = hasText && isCounted ? this.#memory.touchTask(this.#groupName(taskAt)) : this.#group(taskAt);
    into.length = hasText ? this.#lengthOf(group) : 0;
    if (lengthAlone) {
      // The words were not read, so their running means stay.
      if (group && hasText && isCounted) noteRequest(group, features.length, group.shared);
      return;
    }
    const toShared = hasText ? this.#trustIn('shared', group) : 0;
    const toOwn = hasText ? this.#trustIn('own', group) : 0;
    // The weights of a text's words lie far apart in memory, so they are read only where that changes something.
    const readsWords = hasText && (isCounted || toShared > 0 || toOwn > 0);
    if (readsWords) features.unpack(bytes);
    const shared = readsWords ? (this.#memory.shared?.product(features) ?? 0) : 0;
    into.trust = Math.max(toShared, toOwn);
    into.outcomes.fill(0);
    into.counts.fill(0);
    // Adding to 0 avoids −0, so that the shift is the same to the bit whether or not the words are read.
    const common = 0 + toShared * (shared - (group?.shared ?? 0));
    into.text.fill(common);
    for (const { at, memory } of this.#known()) {
      into.outcomes[at] = this.#outcomesOf(memory, at, taskAt, task);
      const tally = task && memory.tasks[task.index];
      if (tally) into.counts[at] = tally.count;
      if (!readsWords || !memory.own) continue;
      const { weights, centres } = memory.own;
      const own = weights.product(features);
      const centre = group ? centres[group.index]! : 0;
      into.text[at] = common + toOwn * (own - centre);
      if (group && isCounted) centres[group.index] = centre + meanRate(group.requests) * (own - centre);
    }
    if (group && hasText && isCounted) noteRequest(group, features.length, shared);
    const { quality, length, outcomes, text } = into;
    for (let at = 0; at < quality.length; at++) quality[at] = moved(declared[at]!, length + outcomes[at]! + text[at]!);
  }

  /**
   * One step of a diagonal Bayesian logistic regression for the words, and of the posterior means for the declared
   * qualities. Both use the estimate from before the outcome, with full trust in the words.
   */
  learn(outcome: Outcome): number {
    checkOutcome(outcome);
    const { model: at, task: taskAt, declared, score, weight, probability, among } = outcome;
    const features = this.#features;
    const hasText = features.unpack(outcome.features);
    const task = this.#memory.touchTask(this.#taskName(taskAt));
    const group = this.#memory.touchTask(this.#groupName(taskAt));
    const model = this.#memory.touchModel(this.#catalog.models[at]!.id, hasText);
    const outcomes = this.#outcomesOf(model, at, taskAt, task);
    const length = hasText ? this.#lengthOf(group) : 0;
    const shared = hasText ? (this.#memory.shared?.product(features) ?? 0) - group.shared : 0;
    const own = hasText && model.own ? model.own.weights.product(features) - model.own.centres[group.index]! : 0;
    // In single precision, as in `estimate`.
    const text = Math.fround(this.#trustIn('shared', group) * shared + this.#trustIn('own', group) * own);
    const before = moved(declared, length + Math.fround(outcomes) + text);
    const plain = logitOf(declared) + outcomes + length;
    const p = sigmoid(plain + shared + own);
    const precision = information(p);
    const error = score - p;
    if (hasText) {
      for (const { evidence } of [group, this.#memory]) evidence.note(shared, own, plain, score, weight);
      const importance = weight * Math.min(IMPORTANCE_MAX, 1 / (among * probability));
      this.#learnWords(model, importance * error, importance * precision);
    }
    const { general, generalMass, offset, offsetMass } = this.#priors[at]![taskAt]!;
    model.all.note(general, generalMass, error, precision, weight);
    this.#memory.tallyOf(model, task).note(offset, offsetMass, error, precision, weight);
    return before;
  }

  known(): ModelKnowledge[] {
    return this.#known().flatMap(({ at, memory }) => {
      const { id, general, quality } = this.#catalog.models[at]!;
      const prior = this.#priors[at]![0]!;
      const learnt = moved(general, memory.all.shift(prior.general, prior.generalMass));
      const all: ModelKnowledge = { model: id, task: null, outcomes: memory.all.count, declared: general, learnt };
      const byTask = this.#catalog.tasks.flatMap((name, taskAt): ModelKnowledge[] => {
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
      { weights: this.#memory.shared, trust: this.#trustIn('shared', group) },
      { weights: own, trust: this.#trustIn('own', group) },
    ]);
  }

  #taskName(at: number): string {
    return this.#catalog.tasks[at]!;
  }

  /**
   * The group within which length and words are centred and trusted. A task with declared qualities has its own group,
   * where words may only reflect how its requests differ. All other tasks share one: no declaration covers their
   * differences.
   */
  #groupName(taskAt: number): string {
    return this.#declares[taskAt] ? this.#taskName(taskAt) : UNDECLARED;
  }

  #group(taskAt: number): TaskMemory | undefined {
    return this.#memory.tasks.get(this.#groupName(taskAt));
  }

  /** The models of the catalog with outcomes. */
  #known() {
    if (this.#version === this.#memory.version) return this.#knownModels;
    this.#version = this.#memory.version;
    this.#knownModels = this.#catalog.models.flatMap(({ id }, at) => {
      const memory = this.#memory.models.get(id);
      return memory ? [{ at, memory }] : [];
    });
    return this.#knownModels;
  }

  /** Δb + Δo: the distance of the posterior means from the declared quality. */
  #outcomesOf(model: ModelMemory, at: number, taskAt: number, task: TaskMemory | undefined): number {
    const { general, generalMass, offset, offsetMass } = this.#priors[at]![taskAt]!;
    const tally = task && model.tasks[task.index];
    return model.all.shift(general, generalMass) + (tally ? tally.shift(offset, offsetMass) : 0);
  }

  #lengthOf(group: TaskMemory | undefined): number {
    if (!group) return 0;
    // Subtracting from 0 avoids −0 for a text of usual length.
    return 0 - this.#settings.length * familiarity(group.requests) * (this.#features.length - group.length);
  }

  #trustIn(words: 'shared' | 'own', group: TaskMemory | undefined): number {
    return trustOf(group?.evidence[words], this.#memory.evidence[words], this.#settings.doubt);
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

/** Moves the running means of a group by one request. */
function noteRequest(group: TaskMemory, length: number, shared: number): void {
  group.length += ownMeanRate(group.requests) * (length - group.length);
  group.shared += meanRate(group.requests) * (shared - group.shared);
  group.requests++;
}

/** A single NaN would destroy everything learned. */
function checkOutcome({ score, declared, weight, probability, among }: Outcome): void {
  checkWithin('score', score, 0, 1);
  checkWithin('declared', declared, 0, 1);
  checkWithin('weight', weight, Number.MIN_VALUE, 1);
  checkWithin('probability', probability, Number.MIN_VALUE, 1);
  checkWithin('among', among, 1, Number.MAX_SAFE_INTEGER);
}

function checkWithin(name: string, value: number, from: number, to: number): void {
  if (!(value >= from && value <= to)) throw new RangeError(`${name} is ${value}, and must be ${from} to ${to}`);
}
