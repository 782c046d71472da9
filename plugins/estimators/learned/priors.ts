import { type EstimatorCatalog, type EstimatorModel, logitOf } from 'signalbox/plugin';

/** How many outcomes a declared quality counts as, by where it comes from. */
export type Worth = Readonly<Record<EstimatorModel['basis'], number>>;

/** The precision of what is declared of a model at a task, and of what is not. As outcomes: about 130 and 260. */
const STATED_MASS = 30;
const UNSTATED_MASS = 60;
/** The least that an outcome counts with, so that what is nearly sure still moves. */
const INFORMATION_MIN = 0.05;

/** What is declared of a model and a task, as logits with precisions: the general one, and what the task adds to it. */
interface Prior {
  general: number;
  generalMass: number;
  offset: number;
  offsetMass: number;
}

export interface Priors {
  /** The same object at each call: to be read at once. */
  of(model: number, task: number): Readonly<Prior>;
}

export function priorsOf({ models, tasks }: EstimatorCatalog, worth: Worth): Priors {
  const general = Float64Array.from(models, (model) => logitOf(model.general));
  const masses = Float64Array.from(models, (model) => worth[model.basis] * information(model.general));
  const offsets = new Float64Array(models.length * tasks.length);
  const stated = new Uint8Array(offsets.length);
  models.forEach((model, at) => {
    tasks.forEach((_, task) => {
      if (!model.stated[task]) return;
      stated[at * tasks.length + task] = 1;
      offsets[at * tasks.length + task] = logitOf(model.quality[task]!) - general[at]!;
    });
  });
  const prior: Prior = { general: 0, generalMass: 0, offset: 0, offsetMass: 0 };
  return {
    of(model, task) {
      const place = model * tasks.length + task;
      prior.general = general[model]!;
      prior.generalMass = masses[model]!;
      prior.offset = offsets[place]!;
      prior.offsetMass = stated[place] ? STATED_MASS : UNSTATED_MASS;
      return prior;
    },
  };
}

/** What one outcome tells of the logit of a share of good answers: p(1 − p). */
export function information(p: number): number {
  return Math.max(p * (1 - p), INFORMATION_MIN);
}
