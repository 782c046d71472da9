import { withoutLatest } from '../../core/policy/found-models.ts';

/** The names of all models that a server has. */
export interface ServedNames {
  readonly names: readonly string[];
  /** Returns what an operator can do about a model that the server lacks, as a sentence without its end. */
  readonly remedyFor: (upstream: string) => string;
}

/** Which models the servers of the operator have, by provider. State: found models. */
export class NamesByProvider {
  readonly #served = new Map<string, { readonly names: ReadonlySet<string>; readonly list: ServedNames }>();

  /** @param served null if it is not known which models the provider lacks. @returns whether the names have changed */
  set(provider: string, served: ServedNames | null): boolean {
    const before = this.#served.get(provider)?.list.names ?? null;
    if (served === null) this.#served.delete(provider);
    else this.#served.set(provider, { names: new Set(served.names.map(withoutLatest)), list: served });
    return before?.join('\n') !== served?.names.join('\n');
  }

  /** Whether a provider certainly lacks a model. The stand-in of a wildcard has a name that ends in `*`, which no provider lists. */
  isAbsent(provider: string, upstream: string): boolean {
    const served = this.#served.get(provider);
    return served !== undefined && !upstream.endsWith('*') && !served.names.has(withoutLatest(upstream));
  }

  remedyFor(provider: string, upstream: string): string {
    return this.#served.get(provider)?.list.remedyFor(upstream) ?? 'the server does not have the model';
  }
}
