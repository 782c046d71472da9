import { type EstimatorCatalog, type EstimatorModel, logitOf } from 'signalbox/plugin';

/** The weight of a declared quality in outcomes, by its basis. */
export type DeclaredOutcomes = Readonly<Record<EstimatorModel['basis'], number>>;

/** The precision of a task's own declared quality, and of an inherited one. As outcomes, about 130 and 260. */
const STATED_MASS = 30;
const UNSTATED_MASS = 60;
/** The least precision of an outcome, so that near-certain estimates still move. */
const INFORMATION_MIN = 0.05;

/** The declared qualities of a model and task, as logits with precisions: the general one and the difference. */
interface Prior {
  general: number;
  generalMass: number;
  offset: number;
  offsetMass: number;
}

export type Priors = ReturnType<typeof priorsOf>;

export function priorsOf({ models, tasks }: EstimatorCatalog, outcomes: DeclaredOutcomes) {
  const general = Float64Array.from(models, (model) => logitOf(model.general));
  const masses = Float64Array.from(models, (model) => outcomes[model.basis] * information(model.general));
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
    /** Returns the same object at each call, to be read at once. */
    of(model: number, task: number): Readonly<Prior> {
      const cell = model * tasks.length + task;
      prior.general = general[model]!;
      prior.generalMass = masses[model]!;
      prior.offset = offsets[cell]!;
      prior.offsetMass = stated[cell] ? STATED_MASS : UNSTATED_MASS;
      return prior;
    },
  };
}

/** The precision that one outcome adds to the logit of a share p of good answers: p(1 − p). */
export function information(p: number): number {
  return Math.max(p * (1 - p), INFORMATION_MIN);
}
