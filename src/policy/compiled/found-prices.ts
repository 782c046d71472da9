import { isFree } from '../../core/money/price.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { type FoundModel, type FoundModels, plainName } from '../../core/policy/found-models.ts';
import { hasKey } from '../../core/policy/snapshot.ts';
import { PLACEHOLDER } from '../define/environment.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import type { WildcardDraft } from '../models/wildcards.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { ProviderSetup } from '../providers/setup.ts';
import type { Report } from '../report/report.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';

/** The parts of a policy that decide what models cost that it does not declare. */
interface PricedPolicy {
  readonly of: DraftReader;
  readonly setups: ReadonlyMap<string, ProviderSetup>;
  /** Null if nothing was found. */
  readonly found: Pick<FoundModels, 'servers'> | null;
}

/** A model that the policy prices itself. */
interface PricedModel {
  readonly id: string;
  /** Infinity for a declared model, otherwise the length of the wildcard that states the price. */
  readonly rank: number;
  readonly isFree: boolean;
}

/** Why a found model is not served. */
export interface FoundRefusal {
  readonly reason: string;
  /** The reason for callers, who must not see the names of models that they may not use. */
  readonly toCallers: string;
}

/** Reads what the found models of a policy cost, and reports policies where this is probably a mistake. */
export function priceFound(policy: PricedPolicy, report: Report): FoundPrices {
  const prices = new FoundPrices(policy);
  prices.review(policy.of(PROVIDERS).named, report);
  return prices;
}

/** The digests of one provider's models, by the server's names and by `plainName` of these names. */
type Digests = ReadonlyMap<string, string>;

/**
 * Keeps the weights of a model with a price from being served at another price under another name. A found model costs nothing, so it needs
 * a stated price at a server that also serves a model with a price. A name that has the weights of another model is never served.
 */
export class FoundPrices {
  readonly #wildcards: readonly WildcardDraft[];
  readonly #setups: PricedPolicy['setups'];
  readonly #digests: ReadonlyMap<string, Digests>;
  /** The declared models by server and name. */
  readonly #named = new Map<string, PricedModel>();
  /** The model with the highest rank, by server and digest. */
  readonly #weights = new Map<string, PricedModel>();
  /** The ID of a declared model with a price, at any server, by digest. */
  readonly #pricedWeights = new Map<string, string>();
  /** The ID of a model with a price, or the pattern of a wildcard with one, by server. */
  readonly #priced = new Map<string, string>();

  constructor({ of, setups, found }: PricedPolicy) {
    const { drafts, wildcards } = of(MODELS);
    this.#wildcards = wildcards;
    this.#setups = setups;
    this.#digests = new Map(found?.servers.map(({ provider, digests }) => [provider, digestsOf(digests)]));
    for (const wildcard of wildcards) {
      const { pattern, provider } = wildcard;
      if (statesPrice(wildcard) && !isFreeWildcard(wildcard)) this.#priced.set(this.#serverOf(provider), pattern);
    }
    for (const { model, endpoints } of drafts) {
      for (const { provider, upstream, price } of endpoints.map(({ endpoint }) => endpoint)) {
        const server = this.#serverOf(provider);
        const declared = { id: model.id, rank: Number.POSITIVE_INFINITY, isFree: isFree(price) };
        this.#named.set(keyOf(server, plainName(upstream)), declared);
        if (!declared.isFree) this.#priced.set(server, model.id);
      }
    }
    for (const { provider, models, digests } of found?.servers ?? []) {
      const ids = new Map(models.map(({ upstream, name }) => [upstream, `${provider}/${name}`]));
      for (const [upstream, digest] of digests) this.#addWeights(digest, provider, upstream, ids.get(upstream));
    }
  }

  /** Reports policies that serve found models for nothing, or not at all, although money is involved. */
  review(providers: ReturnType<typeof PROVIDERS.draft>['named'], report: Report): void {
    for (const { name, path, tree } of providers) {
      const { provider, isHosted } = this.#setups.get(name) ?? {};
      if (!provider?.discover) continue;
      const place = placeAt(tree, 'discover');
      const stated = this.#wildcards.filter((one) => one.provider === name && statesPrice(one));
      const ofAll = stated.find(({ pattern }) => `${name}/`.startsWith(pattern.slice(0, -1)));
      const why = this.#whyPriced(name);
      const hint = `state a price for them: \`models: { "${name}/*": { provider: ${name}, unknown_price: { as: { … } } } }\``;
      if (isHosted && stated.length === 0 && valueAt(tree, 'discover')) {
        const message = `\`${path}\` has \`discover\`, but ${why}, and found models cost nothing`;
        const expected = 'a stated price, or `serves: "*"` with a preset for public prices, instead of `discover`';
        report.add('conflicting-keys', place, message, { expected, hint });
      } else if (why !== null && !ofAll) {
        report.add('found-price', place, `models that are found at \`${path}\` are not served, because ${why}`, {
          hint,
        });
      } else if (why !== null && ofAll && isFreeWildcard(ofAll)) {
        const hint = 'callers may get the weights of a model with a price for nothing under another name';
        report.add('found-price', ofAll.place, `\`${ofAll.path}\` has a price of 0, although ${why}`, { hint });
      } else if (hasKey(provider) && !ofAll) {
        const message = `models that are found at \`${path}\` cost nothing, although it uses an API key`;
        report.add('free-model', place, message, { hint });
      }
    }
  }

  /** Returns why a found model is not served; null if it is served. */
  refusalOf(provider: string, { upstream, name }: Pick<FoundModel, 'upstream' | 'name'>): FoundRefusal | null {
    const id = `${provider}/${name}`;
    const owner = this.ownerOf(id, provider, upstream);
    if (owner !== null)
      return { reason: `it has the weights of \`${owner}\``, toCallers: 'another model of the policy has its weights' };
    const why = this.#pricedByWildcard(id, provider)
      ? null
      : (this.#whyPriced(provider) ?? this.#whyPricedElsewhere(provider, upstream));
    if (why === null) return null;
    const remedy = `to serve it, state its price under \`models\`, as \`${provider}/*\` or as an entry of its own`;
    return { reason: `${why}; ${remedy}`, toCallers: 'it has no price' };
  }

  /**
   * Returns the ID of the model whose weights a name has, if the policy prices that model more specifically than the name; null if there
   * is no such model.
   */
  ownerOf(id: string, provider: string, upstream: string): string | null {
    const server = this.#serverOf(provider);
    const named = this.#named.get(keyOf(server, plainName(upstream)));
    const digest = this.#digestOf(provider, upstream);
    const owner = named ?? (digest === undefined ? undefined : this.#weights.get(keyOf(server, digest)));
    return owner && owner.id !== id && owner.rank > (this.#pricedByWildcard(id, provider)?.rank ?? 0) ? owner.id : null;
  }

  /** Returns why the models of a provider that the policy does not declare need a stated price; null if they need none. */
  #whyPriced(provider: string): string | null {
    if (this.#setups.get(provider)?.isHosted) return `\`${provider}\` is a service with prices`;
    const priced = this.#priced.get(this.#serverOf(provider));
    return priced === undefined ? null : `\`${priced}\` of the same server has a price`;
  }

  #whyPricedElsewhere(provider: string, upstream: string): string | null {
    const priced = this.#pricedWeights.get(this.#digestOf(provider, upstream) ?? '');
    return priced === undefined ? null : `it has the weights of \`${priced}\`, which has a price`;
  }

  #digestOf(provider: string, upstream: string): string | undefined {
    const digests = this.#digests.get(provider);
    return digests?.get(upstream) ?? digests?.get(plainName(upstream));
  }

  #serverOf(provider: string): string {
    return serverOf(this.#setups.get(provider), provider);
  }

  /** @param id the ID of a found model; absent if its name is not allowed as an ID */
  #addWeights(digest: string, provider: string, upstream: string, id: string | undefined): void {
    const server = this.#serverOf(provider);
    const declared = this.#named.get(keyOf(server, plainName(upstream)));
    const owner = declared ?? (id === undefined ? null : this.#pricedByWildcard(id, provider));
    if (owner === null) return;
    if (!owner.isFree) this.#pricedWeights.set(digest, owner.id);
    const key = keyOf(server, digest);
    if (owner.rank > (this.#weights.get(key)?.rank ?? 0)) this.#weights.set(key, owner);
  }

  #pricedByWildcard(id: string, provider: string): PricedModel | null {
    const wildcard = wildcardFor(id, provider, this.#wildcards);
    if (wildcard === null || !statesPrice(wildcard)) return null;
    return { id, rank: wildcard.pattern.length, isFree: isFreeWildcard(wildcard) };
  }
}

function digestsOf(digests: readonly (readonly [upstream: string, digest: string])[]): Digests {
  const plain = digests.map(([upstream, digest]) => [plainName(upstream), digest] as const);
  // An exact name takes precedence over a name that only looks the same.
  return new Map([...plain, ...digests]);
}

const keyOf = (server: string, part: string): string => JSON.stringify([server, part]);

/** Returns the wildcard with the longest pattern that covers an ID at its provider. */
export function wildcardFor(id: string, provider: string, wildcards: readonly WildcardDraft[]): WildcardDraft | null {
  const covering = wildcards.filter((one) => one.provider === provider && id.startsWith(one.pattern.slice(0, -1)));
  return covering.sort((a, b) => b.pattern.length - a.pattern.length)[0] ?? null;
}

const statesPrice = ({ tree, unknownPrice }: WildcardDraft): boolean =>
  unknownPrice !== null || valueAt(tree, 'price') !== undefined;

const isFreeWildcard = ({ standIn }: WildcardDraft): boolean =>
  standIn.endpoints.every(({ endpoint }) => isFree(endpoint.price));

/**
 * Returns the same text for providers with the same host and port, because they probably use the same server. Names and addresses of this
 * machine count as one host. Other names of one machine cannot be recognized.
 */
function serverOf(setup: ProviderSetup | undefined, name: string): string {
  const baseUrl = setup?.provider?.baseUrl ?? null;
  // While a policy is only checked, unknown addresses have a placeholder.
  if (baseUrl === null || new URL(baseUrl).origin === UNKNOWN_ORIGIN) return name;
  const { protocol, hostname, port } = new URL(baseUrl);
  const isHere = isLoopbackHost(hostname) || LOOPBACK_IN_IPV6.test(hostname);
  const host = isHere ? 'localhost' : hostname.replace(/\.$/, '');
  return `${host}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

/** An IPv4 address of this machine as an IPv6 address, in the form that `URL` returns. */
const LOOPBACK_IN_IPV6 = /^\[::ffff:7f[0-9a-f]{2}:/;

const UNKNOWN_ORIGIN = new URL(PLACEHOLDER).origin;
