import { parseDecimal } from '../core/decimal.ts';
import type { Model, WildcardModel, WildcardRefusal, Wildcards } from '../core/snapshot.ts';
import { narrowCapabilities, pagesMaxOf, type ServingProviders } from './availability.ts';
import { checkValue } from './check.ts';
import type { FactsTable, ModelFacts } from './facts.ts';
import { deepFreeze } from './freeze.ts';
import { draftModel, type ModelContext, type ModelDraft } from './models.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { ProviderSetup } from './providers.ts';
import { Report } from './report.ts';
import { type CheckedRules, judgeModel } from './rules.ts';
import { changesBill, isWellFormed } from './same-model.ts';
import { ModelText } from './schema-model.ts';
import { atOnce } from './steps.ts';
import type { Tree } from './tree.ts';
import { byLength, WildcardNames } from './wildcard-names.ts';
import { merged, treeOf, type WildcardDraft } from './wildcards.ts';

/** The most asked IDs that stay compiled, the last used ones. */
const KEPT_MAX = 1_000;

/** What is published of models, and by whom. */
export type PublicFigures = Pick<FactsTable, 'of' | 'ids' | 'source'>;

/** The surroundings of wildcards: the compiled parts of their policy. */
export interface WildcardContext {
  readonly parsed: ParsedPolicy;
  readonly rules: CheckedRules;
  readonly setups: ReadonlyMap<string, ProviderSetup>;
  readonly serving: ServingProviders;
  /** Null where the table of facts was not loaded: no ID has public figures then. */
  readonly facts: PublicFigures | null;
  readonly usdPerCredit: string;
  /** The slot behind those of the catalog. */
  readonly firstSlot: number;
}

/** A wildcard that serves here. */
interface ServingWildcard extends WildcardDraft {
  readonly names: WildcardNames;
  readonly standInModel: Model;
}

/** The wildcards whose providers are set up; null for none. */
export function compileWildcards(drafts: readonly WildcardDraft[], context: WildcardContext): Wildcards | null {
  const serving = drafts.filter(({ provider }) => context.serving.has(provider));
  return serving.length === 0 ? null : deepFreeze(new PolicyWildcards(serving, context));
}

class PolicyWildcards implements Wildcards {
  readonly patterns: readonly Model[];
  readonly #context: WildcardContext;
  readonly #ofModels: Omit<ModelContext, 'report' | 'start'>;
  readonly #byLength: readonly ServingWildcard[];
  /** Those whose models are known by their bare names, too. */
  readonly #bare: readonly ServingWildcard[];
  readonly #known = new Map<string, WildcardModel | WildcardRefusal>();
  #listed: readonly Model[] | null = null;

  constructor(drafts: readonly WildcardDraft[], context: WildcardContext) {
    this.#context = context;
    const { providers, tasks } = context.parsed;
    this.#ofModels = {
      usdPerCredit: parseDecimal(context.usdPerCredit)!,
      needsKey: new Map(providers.map(({ name, data }) => [name, data?.api_key_env !== undefined])),
      taskIndex: new Map(tasks.map(({ name }, at) => [name, at])),
      medianProviders: null,
      sections: new Map(),
    };
    const serving = drafts.map((draft, at): ServingWildcard => {
      const [standIn] = narrowed([draft.standIn], context);
      const standInModel = modelOf(standIn!, draft.pattern, context.firstSlot + at, context);
      return { ...draft, names: new WildcardNames(draft, context.parsed), standInModel };
    });
    this.patterns = serving.map(({ standInModel }) => standInModel);
    this.#byLength = serving.toSorted(byLength);
    this.#bare = serving.filter(({ names }) => names.takesBareNames);
  }

  meaning(name: string): string | null {
    if (!isWellFormed(name)) return null;
    const { facts } = this.#context;
    const covering = this.#byLength.find(({ names }) => names.covers(name));
    if (covering) return covering.names.meaning(name);
    const bare = this.#bare.find(({ service }) => service !== null && facts?.of(service, name));
    const id = bare?.names.idOf(name);
    return bare && id ? bare.names.meaning(id) : null;
  }

  find(id: string): WildcardModel | WildcardRefusal | null {
    const known = this.#known.get(id);
    if (known) {
      this.#known.delete(id);
      this.#known.set(id, known);
      return known;
    }
    if (this.meaning(id) !== id) return null;
    const wildcard = this.#byLength.find(({ names }) => names.covers(id))!;
    const found = this.#compile(id, wildcard);
    this.#known.set(id, found);
    if (this.#known.size > KEPT_MAX) this.#known.delete(this.#known.keys().next().value!);
    return found;
  }

  listed(): readonly Model[] {
    this.#listed ??= this.#byLength.flatMap((wildcard) => {
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
    const { parsed, facts, rules, serving } = this.#context;
    const { service, provider, path, place, standIn, standInModel, pattern } = wildcard;
    const upstream = wildcard.names.upstreamOf(id);
    const known = service === null ? null : (facts?.of(service, upstream) ?? null);
    const text = textOf(upstream, known, wildcard);
    const hasPrice = text.entries.some(({ key }) => key === 'price');
    if (!hasPrice) {
      const refused = `The price of \`${id}\` is not known here, so it is not served. A policy states it in \`models\`: see docs/policies/guide.md, “Serve any model by its name”.`;
      return { refused };
    }
    if (!known && changesBill(upstream, serving.get(provider)!.apiKeyEnv !== null)) {
      const message = `A part of \`${id}\` changes its bill or the model behind it, so it is served only with a price of its own.`;
      return { refused: message };
    }
    const report = new Report();
    const subject = { path, place, name: id, tree: text };
    const named = { ...subject, data: checkValue(ModelText, subject, report) };
    const draft = draftModel(named, () => standIn.model.latency, { ...this.#ofModels, report, start: place });
    const [narrow] = draft === null || report.failed ? [] : narrowed([draft], this.#context);
    if (!narrow) return { refused: `The figures of \`${id}\` are not those of a model, so it is not served.` };
    const model = { ...modelOf(narrow, id, standInModel.firstSlot, this.#context), pattern };
    return deepFreeze({ model, ...judgeModel(rules, parsed, narrow) });
  }
}

/** The text of a model: the wildcard's own keys, then what is known of it, then a price that the operator owns. */
function textOf(upstream: string, known: ModelFacts | null, { tree, place, unknownPrice }: WildcardDraft) {
  const more: Record<string, Tree> = { upstream: treeOf(upstream, place) };
  for (const [key, value] of Object.entries(known ?? {})) more[key] = treeOf(value, place);
  if (unknownPrice) more.price ??= unknownPrice;
  return merged(tree, more);
}

function modelOf({ model, endpoints }: ModelDraft, id: string, firstSlot: number, { serving }: WildcardContext): Model {
  const { endpoint } = endpoints[0]!;
  return { ...model, id, pagesMax: pagesMaxOf(model, [endpoint], serving), endpoints: [endpoint], firstSlot };
}

function narrowed(drafts: readonly ModelDraft[], { setups }: WildcardContext): readonly ModelDraft[] {
  return atOnce(narrowCapabilities(drafts, setups, new Report()));
}
