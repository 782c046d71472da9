import { basename } from 'node:path';
import { DAY_MS } from '../../../core/time/clock.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { FactsTable, loadFacts, sourceText } from '../../../policy/models/facts.ts';
import type { PolicyBundle } from '../../../policy/runtime/source.ts';
import { patchOf as diffOf } from '../policy/bundles.ts';
import { checkCommand, policyName } from '../policy/folder-words.ts';
import { type JudgeTools, readPolicy } from '../policy/tools.ts';
import { endpointKey } from './last-week.ts';
import { edited, editsFor, type StatedPrice, statedPrices, type TextEdit } from './price-edits.ts';
import { figuresIn } from './price-periods.ts';
import { type CatalogProposal, propose } from './propose.ts';
import {
  type ChosenPrice,
  type Disagreement,
  disagreementsOf,
  priceOf,
  type Statement,
  Statements,
} from './statements.ts';
import { renewTable, type TableRenewal } from './table.ts';
import { readWitness } from './witnesses/read.ts';
import type { Witness } from './witnesses/witness.ts';

/** An endpoint at which a model ends. */
export interface EndingEndpoint {
  readonly provider: string;
  readonly upstream: string;
  /** The day; null if no list states it. */
  readonly ends: string | null;
}

/** A figure of the policy that differs from the witnesses. */
export interface FigureChange {
  readonly field: string;
  readonly old: number | null;
  readonly new: number;
}

/** What witnesses state about a model of the policy. */
export interface ModelUpdate {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** The location of the price, such as `models.yaml:29`. */
  readonly place: string;
  /** The newest list that has the model, and its day; null if no list has it. */
  readonly source: string | null;
  readonly asOf: string | null;
  readonly changes: readonly FigureChange[];
  /** Limits of the policy that are higher than the provider allows. The patch leaves them. */
  readonly limits: readonly FigureChange[];
  readonly disagreements: readonly Disagreement[];
  /** The endpoints whose services call the model deprecated, have ended it, or end it within `SOON_DAYS`. */
  readonly ending: readonly EndingEndpoint[];
  /** Why the patch leaves the price as it is; null if the patch renews it. */
  readonly kept: string | null;
}

/** The report names models that end within so many days. */
const SOON_DAYS = 90;
/** Lists round limits: 128000 for 131072. */
const ROUNDING = 1.05;

/** The comparison of a policy and the public table with witnesses. */
export interface CatalogUpdate {
  readonly witnesses: readonly Witness[];
  readonly models: readonly ModelUpdate[];
  readonly table: TableRenewal;
  /** New models of each provider of the policy. */
  readonly proposals: readonly CatalogProposal[];
  /** The changes of the policy's files, for `git apply` in its folder; empty for none. */
  readonly diff: string;
  /** The endpoints of the patched policy, by `endpointKey`. */
  readonly prices: Awaited<ReturnType<typeof pricesIn>>;
}

/**
 * Compares a policy and the public table with witnesses. Changes nothing.
 * @param paths local files, as `readWitness` takes them
 * @param today such as `2026-11-30`
 * @throws UsageError if a witness cannot be read, or the policy has mistakes
 */
export async function updateCatalog(
  folder: string,
  paths: readonly string[],
  judge: JudgeTools,
  today: string,
): Promise<CatalogUpdate> {
  const bundle = await readPolicy(folder);
  const parsed = await policyIn(bundle, folder, judge);
  const witnesses = await Promise.all(paths.map((path) => readWitness(path, judge.env, today)));
  const statements = new Statements(witnesses);
  const services = new Map(
    parsed.drafts.providers.named.map(({ name, data }) => [name, data?.preset ?? data?.adapter ?? name] as const),
  );
  const models: ModelUpdate[] = [];
  const files = bundle.files.map((file) => {
    if (file.text === undefined) return file;
    const edits = compareFile(file.path, file.text, { statements, services, today }, models);
    return { ...file, text: edited(file.text, edits) };
  });
  const patched: PolicyBundle = { ...bundle, files };
  const table = renewTable((await loadFacts()).file, witnesses, today);
  return {
    witnesses: statements.witnesses,
    models,
    table,
    proposals: proposalsFor(parsed, services, table, today),
    diff: await diffOf(bundle, patched),
    prices: await pricesIn(patched, folder, judge),
  };
}

async function policyIn(bundle: PolicyBundle, folder: string, judge: JudgeTools) {
  const { policy } = await judge.parse(bundle.files, null);
  const mistake = policy.diagnostics.find(({ severity }) => severity === 'error');
  if (!mistake) return policy;
  throw new UsageError(
    `${policyName(folder)}: ${mistake.file}:${mistake.line}: ${mistake.message}. Run ${checkCommand(folder)} to see all mistakes.`,
  );
}

async function pricesIn(bundle: PolicyBundle, folder: string, judge: JudgeTools) {
  const { drafts } = await policyIn(bundle, folder, judge);
  return new Map(
    drafts.models.drafts.flatMap(({ endpoints }) =>
      endpoints.map(({ endpoint }) => [endpointKey(endpoint.provider, endpoint.upstream), endpoint] as const),
    ),
  );
}

interface Comparison {
  readonly statements: Statements;
  /** Maps a provider to its preset. */
  readonly services: ReadonlyMap<string, string>;
  readonly today: string;
}

/** Compares the prices of a file, and returns the edits that renew them. */
function compareFile(path: string, text: string, comparison: Comparison, models: ModelUpdate[]): readonly TextEdit[] {
  const byPrice = Map.groupBy(statedPrices(text), ({ source }) => source.pair);
  return [...byPrice.values()].flatMap((endpoints) => {
    const found = endpoints.map((endpoint) => ({ endpoint, own: statementsOf(endpoint, comparison) }));
    const { endpoint, own } = found.find((one) => one.own.length > 0) ?? found[0]!;
    const update = updateOf(path, endpoint, own);
    models.push({
      ...update,
      ending: found.flatMap((one) => endingOf(one.endpoint, one.own, comparison.today)),
      disagreements: [...update.disagreements, ...otherEndpoints(found, endpoint)],
    });
    const chosen = priceOf(own);
    if (!chosen || update.kept !== null) return [];
    const { price, witness } = chosen;
    const source = `${witness.name} ${witness.revision.slice(0, 8)}`;
    const changed = update.changes.map(({ field }) => field.slice(PRICE.length));
    return editsFor(text, endpoint, price, { asOf: witness.asOf, source, changed });
  });
}

function statementsOf({ provider, upstream }: StatedPrice, { statements, services }: Comparison) {
  const service = services.get(provider);
  return service === undefined ? [] : statements.of(service, upstream);
}

/** Returns the figures of other endpoints with the same price in the policy, where their services state another one. */
function otherEndpoints(
  found: readonly { readonly endpoint: StatedPrice; readonly own: readonly Statement[] }[],
  chosen: StatedPrice,
): readonly Disagreement[] {
  const prices = found.flatMap(({ endpoint, own }) => {
    const price = priceOf(own)?.price;
    return price ? [[endpoint.provider, price] as const] : [];
  });
  const ours = prices.find(([provider]) => provider === chosen.provider)?.[1];
  return (['input', 'output'] as const).flatMap((rate) => {
    const values = Object.fromEntries(prices.map(([provider, price]) => [provider, price[rate]]));
    return Object.values(values).some((usd) => usd !== ours?.[rate])
      ? [{ field: `price.${rate} of endpoints`, values }]
      : [];
  });
}

/** Returns the endpoint if its model has ended or soon ends there. */
function endingOf({ provider, upstream }: StatedPrice, own: readonly Statement[], today: string): EndingEndpoint[] {
  const ends = own.flatMap((one) => one.model.ends ?? []).sort()[0] ?? null;
  const isSoon = ends !== null && Date.parse(ends) - Date.parse(today) <= SOON_DAYS * DAY_MS;
  return isSoon || own[0]?.model.deprecated ? [{ provider, upstream, ends }] : [];
}

function updateOf(path: string, endpoint: StatedPrice, own: readonly Statement[]): Omit<ModelUpdate, 'ending'> {
  const { model, provider, upstream, line, asOf: checked, basis } = endpoint;
  const newest = own[0] ?? null;
  const chosen = priceOf(own);
  const isOlder = newest !== null && checked !== null && newest.witness.asOf < checked;
  return {
    ...{ model, provider, upstream, place: `${basename(path)}:${line}` },
    source: chosen && sourceText(chosen.witness),
    asOf: chosen?.witness.asOf ?? null,
    changes: chosen && !isOlder ? changesOf(endpoint.price, chosen) : [],
    limits: newest ? tooHigh(endpoint, newest) : [],
    disagreements: disagreementsOf(own),
    kept: keptReason(chosen !== null, basis, isOlder),
  };
}

/** A contract, or a model of one's own: no list can know the price. */
export const OWN_PRICE = 'the price is your own';

function keptReason(isKnown: boolean, basis: string | null, isOlder: boolean): string | null {
  if (basis === 'own') return OWN_PRICE;
  if (!isKnown) return 'no list has the model';
  return isOlder ? 'the policy is newer than the lists' : null;
}

const PRICE = 'price.';

/**
 * Returns the figures that differ on the day of the list. A rate of the cache that the policy does not state is the rate of the input.
 * Figures that only the policy states, such as a service tier, are no difference.
 */
function changesOf(own: StatedPrice['price'], { price, witness }: ChosenPrice): readonly FigureChange[] {
  const old = figuresIn(own, witness.asOf);
  return [...figuresIn(price, witness.asOf)].flatMap(([field, usd]) => {
    const line = field.slice(0, field.lastIndexOf('.') + 1);
    const isDefault = field.endsWith('cached_input') || field.endsWith('cache_write');
    const before = old.get(field) ?? (isDefault ? old.get(`${line}input`) : undefined) ?? null;
    return before === usd ? [] : [{ field: PRICE + field, old: before, new: usd }];
  });
}

/** A list may state the context window with or without the room for the output. */
function tooHigh({ contextWindow, maxOutput }: StatedPrice, { model }: Statement): readonly FigureChange[] {
  const { context_window: context, max_output: output } = model;
  const limits: FigureChange[] = [];
  if (context !== undefined && contextWindow !== null && contextWindow > (context + (output ?? 0)) * ROUNDING)
    limits.push({ field: 'context_window', old: contextWindow, new: context });
  if (output !== undefined && maxOutput !== null && maxOutput > output * ROUNDING)
    limits.push({ field: 'max_output', old: maxOutput, new: output });
  return limits;
}

/** Proposes entries for the models that are new in the public table. */
function proposalsFor(
  parsed: Awaited<ReturnType<typeof policyIn>>,
  services: Comparison['services'],
  { file, added }: TableRenewal,
  today: string,
): readonly CatalogProposal[] {
  const table = new FactsTable(file);
  const { models, selectors } = parsed.drafts;
  const taken = new Set([
    ...models.ids.keys(),
    ...selectors.aliases.keys(),
    ...selectors.named.map(({ name }) => name),
  ]);
  return [...services].flatMap(([provider, service]) => {
    const own = models.drafts.flatMap(({ model, endpoints }) =>
      endpoints
        .filter(({ endpoint }) => endpoint.provider === provider)
        .map(({ endpoint, place, usd }) => ({
          ...{ id: model.id, upstream: endpoint.upstream, usd },
          place: `${basename(place.file)}:${place.line}`,
        })),
    );
    const names = added.flatMap((name) => (name.startsWith(`${service}/`) ? [name.slice(service.length + 1)] : []));
    const proposal = propose({
      ...{ provider, isOwnServer: false, own, taken, ownFigures: new Map(), today },
      listed: names.map((id) => ({ id })),
      factsOf: (id) => table.of(service, id),
      rowsOf: (id) => [id],
      factsSource: table.source,
    });
    return proposal.added.length === 0 ? [] : [{ ...proposal, gone: [], repriced: [] }];
  });
}
