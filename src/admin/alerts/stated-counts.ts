import type { AttemptRecord } from '../../core/decision/attempt.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { StatedSums } from '../../core/money/stated-cost.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';

/** Windows are accurate to 5 minutes, so that each model has at most 288 steps in memory. */
const STEP_MS = 5 * MINUTE_MS;
/** The most models that are counted. Policies declare models, so there are seldom more than a few hundred. */
const MODELS_MAX = 1_000;

interface Counts {
  attempts: number;
  stated: number;
  matched: number;
}

/** A model of a provider, with the sums of a window. */
export interface CountedModel extends StatedSums, Pick<AttemptRecord, 'model' | 'provider'> {
  readonly attempts: number;
}

/** Sums the costs that answers of the last day stated, by model and provider. State: stated costs. */
export class StatedCounts {
  readonly #models = new Map<
    string,
    { readonly of: Pick<AttemptRecord, 'model' | 'provider'>; steps: Map<number, Counts> }
  >();

  /** Counts the attempts of a request whose answers stated a cost. @param now ms since 1970 */
  add({ attempts }: Pick<DecisionOutcome, 'attempts'>, now: number): void {
    for (const { stated, atPrice, model, provider } of attempts)
      if (stated !== undefined && atPrice !== undefined) this.#add({ model, provider }, stated, atPrice, now);
  }

  #add(of: Pick<AttemptRecord, 'model' | 'provider'>, stated: number, matched: number, now: number): void {
    const id = JSON.stringify([of.provider, of.model]);
    if (this.#models.size >= MODELS_MAX && !this.#models.has(id)) return;
    const { steps } = this.#models.getOrInsertComputed(id, () => ({ of, steps: new Map() }));
    const step = Math.floor(now / STEP_MS);
    for (const one of steps.keys()) if (one <= step - DAY_MS / STEP_MS) steps.delete(one);
    const counts = steps.getOrInsertComputed(step, () => ({ attempts: 0, stated: 0, matched: 0 }));
    counts.attempts++;
    counts.stated += stated;
    counts.matched += matched;
  }

  /** @param now ms since 1970 */
  within(windowMs: number, now: number): CountedModel[] {
    return [...this.#models.values()].map(({ of, steps }) => {
      const sum = { attempts: 0, stated: 0, matched: 0 };
      for (const [step, { attempts, stated, matched }] of steps) {
        if (step * STEP_MS <= now - windowMs) continue;
        sum.attempts += attempts;
        sum.stated += stated;
        sum.matched += matched;
      }
      return { ...of, ...sum };
    });
  }
}
