import { abortBillingOf, type StoppedBilling } from '../../core/money/abort-billing.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { BrokenDeclaration, EndpointName } from '../../store/endpoints.ts';

/** Receives changes, within the call that causes them. A listener must not throw. */
interface DeclarationsListener {
  /** @param isFirst false if the endpoint billed even more for an answer that began before the declaration was broken */
  broken(declaration: BrokenDeclaration, isFirst: boolean): void;
  lifted(declaration: BrokenDeclaration): void;
}

const SILENT: DeclarationsListener = { broken: () => {}, lifted: () => {} };

const keyOf = ({ provider, upstream, model }: EndpointName): string => JSON.stringify([provider, upstream, model]);

const isSame = (one: Pick<StoppedBilling, 'marginTokens' | 'marginMs'>, other: typeof one): boolean =>
  one.marginTokens === other.marginTokens && one.marginMs === other.marginMs;

/**
 * The endpoints that billed more after an aborted request than their `after_abort` declaration says. A declaration counts as broken until
 * the policy declares something else; time, a restart or another key does not change that. State: broken declarations.
 */
export class Declarations {
  readonly #broken = new Map<string, BrokenDeclaration>();
  #listener = SILENT;
  /** The active policy's declaration of each endpoint whose holds may grow; null for other endpoints. */
  #declared = new Map<string, StoppedBilling | null>();

  /** Loads the broken declarations that an earlier process recorded. Call `restore` once, before the first request. */
  restore(known: readonly BrokenDeclaration[], listener: DeclarationsListener): void {
    this.follow(known);
    this.#listener = listener;
  }

  /**
   * Loads the broken declarations of the store, because another instance may have added or removed some. `follow` reports nothing to the
   * listener.
   */
  follow(known: readonly BrokenDeclaration[]): void {
    this.#broken.clear();
    for (const one of known) this.#broken.set(keyOf(one), one);
  }

  /**
   * Call `review` when a policy becomes active. `review` removes broken declarations that the policy has changed. Endpoints that the policy
   * does not name keep their broken declarations.
   */
  review({ models, providers }: Pick<PolicySnapshot, 'models' | 'providers'>): void {
    this.#declared = new Map();
    for (const { id, endpoints } of models) {
      for (const endpoint of endpoints) {
        const billing = abortBillingOf(endpoint, providers);
        const isGrowing = billing.bills === 'stops' && billing.reports === 'each';
        this.#declared.set(keyOf({ ...endpoint, model: id }), isGrowing ? billing : null);
      }
    }
    for (const [key, one] of this.#broken) {
      const declared = this.#declared.get(key);
      if (declared === undefined || (declared !== null && isSame(declared, one))) continue;
      this.#broken.delete(key);
      this.#listener.lifted(one);
    }
  }

  /** Returns the broken declaration of an endpoint; null for none. */
  of(endpoint: EndpointName): BrokenDeclaration | null {
    return (this.#broken.size > 0 && this.#broken.get(keyOf(endpoint))) || null;
  }

  hasBroken(endpoint: EndpointName, declared: StoppedBilling): boolean {
    const broken = this.of(endpoint);
    return broken !== null && isSame(broken, declared);
  }

  /** Records a broken declaration. @param now ms since 1970 */
  record(name: EndpointName, declared: StoppedBilling, excess: Microcredits, now: number): void {
    const key = keyOf(name);
    // An answer may end after the policy has changed the declaration.
    const inForce = this.#declared.get(key);
    if (inForce === null || (inForce && !isSame(inForce, declared))) return;
    const found = this.#broken.get(key);
    const known = found && isSame(found, declared) ? found : null;
    const { marginTokens, marginMs } = declared;
    const { since = now, excess: before = 0 } = known ?? {};
    const broken = { ...name, marginTokens, marginMs, since, excess: before + excess };
    this.#broken.set(key, broken);
    this.#listener.broken(broken, known === null);
  }
}
