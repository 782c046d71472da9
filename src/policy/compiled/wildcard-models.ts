import {
  hasKey,
  type Model,
  type WildcardFigure,
  type WildcardModel,
  type WildcardRefusal,
  type Wildcards,
} from '../../core/policy/snapshot.ts';
import { checkValue } from '../check/check.ts';
import type { DraftReader } from '../define/section.ts';
import { atAccounts, narrowCapabilities, pagesMaxOf, type ServingProviders } from '../models/availability.ts';
import { MODELS } from '../models/catalog.ts';
import { PRICES } from '../models/contracts.ts';
import type { ModelFacts } from '../models/facts.ts';
import { draftModel, type ModelContext, type ModelDraft, UNLISTED } from '../models/models.ts';
import { changesBill } from '../models/same-model.ts';
import {
  byLength,
  coveredBy,
  longestFor,
  meaningIn,
  type NamedWildcard,
  type PublicFigures,
  withNames,
} from '../models/wildcard-names.ts';
import { merged, treeOf, type WildcardDraft } from '../models/wildcards.ts';
import { statesKey } from '../providers/key-pool.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { ProviderSetup } from '../providers/setup.ts';
import { deepFreeze } from '../report/freeze.ts';
import { Report } from '../report/report.ts';
import { atOnce } from '../report/steps.ts';
import { type CheckedRules, judgeModel } from '../rules/rules.ts';
import { ModelText } from '../schema/model.ts';
import { CREDITS } from '../sections/credits.ts';
import { TASKS } from '../sections/tasks.ts';
import { SELECTORS } from '../selectors/selectors.ts';
import { type Tree, valueAt } from '../yaml/tree.ts';
import type { FoundPrices } from './found-prices.ts';
import { atMoment, type BuildMoment } from './moment.ts';

/** The most IDs that stay compiled. The most recently used IDs stay. */
const KEPT_MAX = 1_000;

/** The data that wildcards need: the compiled parts of their policy. */
export interface WildcardContext {
  readonly of: DraftReader;
  readonly rules: CheckedRules;
  readonly setups: ReadonlyMap<string, ProviderSetup>;
  readonly serving: ServingProviders;
  readonly prices: FoundPrices;
  /** The public figures; null if the table of facts was not loaded. Without the table of facts, no ID has public figures. */
  readonly facts: PublicFigures | null;
  /** The moment of the build; null for prices as they are stated first. */
  readonly moment: BuildMoment | null;
  /** The first slot after the slots of the catalog. */
  readonly firstSlot: number;
}

/** A wildcard that serves in this environment. */
interface ServingWildcard extends NamedWildcard {
  readonly standInModel: Model;
}

/** Compiles the wildcards of a policy; null for none. */
export function compileWildcards(context: WildcardContext): Wildcards | null {
  const { wildcards } = context.of(MODELS);
  return wildcards.length === 0 ? null : deepFreeze(new PolicyWildcards(wildcards, context));
}

class PolicyWildcards implements Wildcards {
  readonly patterns: readonly Model[];
  readonly meaning: (name: string) => string | null;
  readonly #context: WildcardContext;
  readonly #ofModels: Omit<ModelContext, 'report' | 'start'>;
  /** Wildcards in the order of the policy. */
  readonly #serving: readonly ServingWildcard[];
  readonly #leftOut: readonly NamedWildcard[];
  readonly #known = new Map<string, WildcardModel | WildcardRefusal>();
  #listed: readonly Model[] | null = null;

  constructor(drafts: readonly WildcardDraft[], context: WildcardContext) {
    this.#context = context;
    const { of } = context;
    const { named: providers } = of(PROVIDERS);
    this.#ofModels = {
      usdPerCredit: of(CREDITS).usdPerCredit,
      needsKey: new Map(providers.map(({ name, data }) => [name, statesKey(data)])),
      taskIndex: new Map(of(TASKS).map(({ name }, at) => [name, at])),
      ...UNLISTED,
      contracts: of(PRICES),
      sections: new Map(),
    };
    const named = withNames(drafts, { models: of(MODELS).drafts, aliases: of(SELECTORS).aliases }, context.facts);
    const isServing = ({ provider }: WildcardDraft) => context.serving.has(provider);
    this.#leftOut = named.filter((one) => !isServing(one));
    let { firstSlot } = context;
    this.#serving = named.filter(isServing).map((one): ServingWildcard => {
      const [standIn] = narrowed([one.standIn], context);
      const standInModel = modelOf(standIn!, one.pattern, firstSlot, context);
      firstSlot += standInModel.endpoints.length;
      return { ...one, standInModel };
    });
    this.meaning = meaningIn(this.#serving);
    this.patterns = this.#serving.map(({ standInModel }) => standInModel);
  }

  isKnown(id: string): boolean {
    const found = this.find(id);
    if (!found || 'refused' in found) return false;
    const { service, names } = longestFor(id, this.#serving)!;
    return service !== null && this.#context.facts?.of(service, names.upstreamOf(id)) != null;
  }

  states(pattern: string, figure: WildcardFigure): boolean {
    const wildcard = this.#serving.find((one) => one.pattern === pattern);
    if (!wildcard) return false;
    return valueAt(wildcard.tree, figure) !== undefined || (figure === 'price' && wildcard.unknownPrice !== null);
  }

  leftOut(name: string): string | null {
    return coveredBy(this.#leftOut, name)?.wildcard.pattern ?? null;
  }

  find(id: string): WildcardModel | WildcardRefusal | null {
    const known = this.#known.get(id);
    if (known) {
      this.#known.delete(id);
      this.#known.set(id, known);
      return known;
    }
    // A model of the catalog may have the name of a model with public figures that no wildcard covers under this name.
    const wildcard = this.meaning(id) === id ? longestFor(id, this.#serving) : null;
    if (!wildcard) return null;
    const found = this.#compile(id, wildcard);
    this.#known.set(id, found);
    if (this.#known.size > KEPT_MAX) this.#known.delete(this.#known.keys().next().value!);
    return found;
  }

  listed(): readonly Model[] {
    this.#listed ??= this.#serving.toSorted(byLength).flatMap((wildcard) => {
      const known = wildcard.service === null ? [] : (this.#context.facts?.ids(wildcard.service) ?? []);
      return known.flatMap((upstream) => {
        const id = wildcard.names.idOf(upstream);
        if (id === null || this.meaning(id) !== id) return [];
        const found = this.#compile(id, wildcard);
        return 'model' in found ? [found.model] : [];
      });
    });
    return this.#listed;
  }

  #compile(id: string, wildcard: ServingWildcard): WildcardModel | WildcardRefusal {
    const { of, facts, rules, serving, prices } = this.#context;
    const { service, provider, path, place, standIn, standInModel, pattern } = wildcard;
    const upstream = wildcard.names.upstreamOf(id);
    const owner = serving.get(provider)!.discover ? prices.ownerOf(id, provider, upstream) : null;
    if (owner !== null) {
      return {
        refused: `\`${id}\` is not served under this name, because another model of the policy has its weights.`,
      };
    }
    const rows = wildcard.names.rowsOf(upstream);
    // If exactly one row matched and this wildcard covered the row, the ID would already be the ID of that row.
    if (rows.length > 0 && !rows.includes(upstream)) {
      const versions = rows.map((row) => `\`${wildcard.names.idOf(row) ?? row}\``).join(', ');
      return {
        refused: `\`${id}\` is not a known version of its model, and prices differ by version. Known versions: ${versions}.`,
      };
    }
    const known = service === null ? null : (facts?.of(service, upstream) ?? null);
    const text = wildcardText(upstream, known, wildcard);
    const hasPrice = text.entries.some(({ key }) => key === 'price');
    if (!hasPrice) {
      const refused = `\`${id}\` is not served, because its price is not known. To serve it, state the price in the policy under \`models\`: see /docs/guide/policies/any-model.md of your server.`;
      return { refused };
    }
    if (!known && changesBill(upstream, hasKey(serving.get(provider)!))) {
      const message = `\`${id}\` is served only with a price of its own, because a part of the name changes the bill or the model.`;
      return { refused: message };
    }
    const report = new Report();
    const subject = { path, place, name: id, tree: text };
    const named = { ...subject, data: checkValue(ModelText, subject, report) };
    const draft = draftModel(named, () => standIn.model.latency, { ...this.#ofModels, report, start: place });
    const [narrow] =
      draft === null || report.failed ? [] : narrowed(atMoment([draft], this.#context.moment), this.#context);
    if (!narrow) return { refused: `\`${id}\` is not served, because its figures are not valid figures of a model.` };
    const model = { ...modelOf(narrow, id, standInModel.firstSlot, this.#context), pattern };
    const { allowed, preferred } = judgeModel(rules, of(TASKS), narrow);
    return deepFreeze({ model, allowed, preferred });
  }
}

/** Returns the text of a model: the wildcard's own keys, then the public facts, then a price that the operator sets. */
function wildcardText(upstream: string, known: ModelFacts | null, { tree, place, unknownPrice }: WildcardDraft) {
  const more: Record<string, Tree> = { upstream: treeOf(upstream, place) };
  for (const [key, value] of Object.entries(known ?? {})) more[key] = treeOf(value, place);
  if (unknownPrice) more.price ??= unknownPrice;
  return merged(tree, more);
}

function modelOf({ model, endpoints }: ModelDraft, id: string, firstSlot: number, { serving }: WildcardContext): Model {
  const { endpoint } = endpoints[0]!;
  return {
    ...model,
    id,
    pagesMax: pagesMaxOf(model, [endpoint], serving),
    endpoints: atAccounts(endpoint, serving),
    firstSlot,
  };
}

function narrowed(drafts: readonly ModelDraft[], { setups }: WildcardContext): readonly ModelDraft[] {
  return atOnce(narrowCapabilities(drafts, setups, new Report()));
}
