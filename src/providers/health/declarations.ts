import { abortBillingOf, type StoppedBilling } from '../../core/abort-billing.ts';
import type { Microcredits } from '../../core/credits.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { BrokenDeclaration, EndpointName } from '../../store/endpoints.ts';

/** Hears of changes, within the call that caused them. Must not throw. */
interface DeclarationsListener {
  /** @param isFirst false where more was billed by an answer that had begun before */
  broken(declaration: BrokenDeclaration, isFirst: boolean): void;
  lifted(declaration: BrokenDeclaration): void;
}

const SILENT: DeclarationsListener = { broken: () => {}, lifted: () => {} };

const keyOf = ({ provider, upstream, model }: EndpointName): string => JSON.stringify([provider, upstream, model]);

const isSame = (one: Pick<StoppedBilling, 'marginTokens' | 'marginMs'>, other: typeof one): boolean =>
  one.marginTokens === other.marginTokens && one.marginMs === other.marginMs;

/**
 * The declarations of what endpoints bill after an abort that they have not kept. One counts as broken until the policy
 * declares something else, for this is what must be mended: neither time, a restart nor another key mends it.
 * State: broken declarations.
 */
export class Declarations {
  readonly #broken = new Map<string, BrokenDeclaration>();
  #listener = SILENT;
  /** The declarations of endpoints under the policy in force, if holds may grow by it; null where they may not. */
  #declared = new Map<string, StoppedBilling | null>();

  /** Takes over what an earlier process knew. Called once, before the first request. */
  restore(known: readonly BrokenDeclaration[], listener: DeclarationsListener): void {
    this.follow(known);
    this.#listener = listener;
  }

  /** Takes over what the store has: another instance may have found out or lifted some. Reports nothing. */
  follow(known: readonly BrokenDeclaration[]): void {
    this.#broken.clear();
    for (const one of known) this.#broken.set(keyOf(one), one);
  }

  /** Call when a policy comes into force: lifts what it declares otherwise. Endpoints that it does not name keep theirs. */
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

  /** The broken declaration of an endpoint; null for none. */
  of(endpoint: EndpointName): BrokenDeclaration | null {
    return (this.#broken.size > 0 && this.#broken.get(keyOf(endpoint))) || null;
  }

  hasBroken(endpoint: EndpointName, declared: StoppedBilling): boolean {
    const broken = this.of(endpoint);
    return broken !== null && isSame(broken, declared);
  }

  /** @param now ms since 1970 */
  record(name: EndpointName, declared: StoppedBilling, excess: Microcredits, now: number): void {
    const key = keyOf(name);
    // An answer may end under a policy that declares otherwise by now.
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
