import { type EstimatorCatalog, type EstimatorModel, logitOf } from 'signalbox/plugin';

/** The weight of a declared quality in outcomes, by its basis. */
export type DeclaredOutcomes = Readonly<Record<EstimatorModel['basis'], number>>;

/** The precision of a task's own declared quality, and of an inherited one. As outcomes, about 130 and 260. */
const STATED_MASS = 30;
const UNSTATED_MASS = 60;
/** The least precision of an outcome, so that near-certain estimates still move. */
const INFORMATION_MIN = 0.05;

/** By model, then by task. */
export type Priors = ReturnType<typeof priorsOf>;

/** The declared qualities of each model and task, as logits with precisions: the general one and the difference. */
export const priorsOf = ({ models, tasks }: EstimatorCatalog, outcomes: DeclaredOutcomes) =>
  models.map((model) => {
    const general = logitOf(model.general);
    const generalMass = outcomes[model.basis] * information(model.general);
    const unstated = { general, generalMass, offset: 0, offsetMass: UNSTATED_MASS };
    return tasks.map((_, task) =>
      model.stated[task]
        ? { general, generalMass, offset: logitOf(model.quality[task]!) - general, offsetMass: STATED_MASS }
        : unstated,
    );
  });

/** The precision that one outcome adds to the logit of a share p of good answers: p(1 − p). */
export function information(p: number): number {
  return Math.max(p * (1 - p), INFORMATION_MIN);
}
