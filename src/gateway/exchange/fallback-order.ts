import type { AttemptRecord } from '../../core/decision/attempt.ts';
import type { Decision, InsteadOf, RankedModel } from '../../core/decision/decision.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { type FallbackLists, type FallbackReason, listFor } from '../../core/request/fallbacks.ts';
import { earlier, shutText, type UnavailableEndpoint } from '../../routing/unavailable.ts';

/**
 * Returns the model that the request names, if only other models were tried because its endpoints became unavailable after the decision.
 * @param attempts the attempts of the request
 * @param shut the endpoints that were unavailable
 */
export function skipped(
  { named, model }: Pick<Facts, 'named' | 'model'>,
  attempts: readonly Pick<AttemptRecord, 'model'>[],
  shut: readonly UnavailableEndpoint[],
): InsteadOf | undefined {
  if (named === null || attempts.length === 0 || attempts.some((one) => one.model === model)) return undefined;
  const [first, ...others] = shut.filter((one) => one.model === model);
  if (!first) return { model, reason: 'funds', text: 'its worst-case cost is above the Credits left in the budgets' };
  const next = others.reduce(earlier, first);
  return { model, reason: next.state, text: `it is unavailable for now: ${shutText(next)}` };
}

type Order = Pick<Decision, 'ranked' | 'lastResorts'>;

/**
 * The order of the models of a decision with listed fallbacks. It begins with the choice, and ends with its ejected endpoints. After a failure, the models that are listed for
 * its reason follow the models that were already tried.
 */
export class FallbackOrder implements Order {
  readonly ranked: [RankedModel, ...RankedModel[]];
  readonly lastResorts: readonly RankedModel[] = [];
  readonly #lists: FallbackLists;
  /** The other models of the decision by ID. A model is in the map twice if it has healthy and ejected endpoints. */
  readonly #others = new Map<string, RankedModel[]>();
  /** The position of the last model that an attempt was planned for. */
  #last = 0;

  constructor({ ranked: [choice, ...others], lastResorts }: Order, lists: FallbackLists, { models }: PolicySnapshot) {
    this.ranked = [choice];
    this.#lists = lists;
    for (const one of [...others, ...lastResorts]) {
      const { id } = models[one.model]!;
      if (one.model === choice.model) this.ranked.push(one);
      else this.#others.set(id, [...(this.#others.get(id) ?? []), one]);
    }
  }

  /** Returns the first model that a failure for this reason would lead to, and that is not in the order yet. */
  first(reason: FallbackReason): RankedModel | null {
    for (const id of listFor(this.#lists, reason)) {
      const next = this.#others.get(id)?.[0];
      if (next) return next;
    }
    return null;
  }

  /** Notes that the attempt at a model failed, or that there was none because its endpoint was not available. */
  failed(model: RankedModel, reasons: readonly FallbackReason[]): void {
    this.#last = Math.max(this.#last, this.ranked.indexOf(model));
    const ids = reasons.flatMap((reason) => listFor(this.#lists, reason));
    const next = ids.flatMap((id) => {
      const found = this.#others.get(id) ?? [];
      this.#others.delete(id);
      return found;
    });
    this.ranked.splice(this.#last + 1, 0, ...next);
  }
}
