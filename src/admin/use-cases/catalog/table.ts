import { type FactsFile, type FactsRow, isOldPrice, PRICE_DAYS_MAX } from '../../../policy/models/facts.ts';
import { SameModels } from '../../../policy/models/same-model.ts';
import { figuresIn } from './price-periods.ts';
import { disagreementsOf, priceOf, type Statement, Statements } from './statements.ts';
import {
  NOT_TEXT,
  SERVICES,
  unfitName,
  type Witness,
  type WitnessPeriod,
  type WitnessPrice,
  type WitnessRates,
} from './witnesses/witness.ts';

type Source = FactsFile['sources'][number];

/** A change of a row of the public table. */
export interface TableChange {
  readonly model: string;
  readonly field: string;
  readonly old: number | null;
  readonly new: number | null;
}

/** The public table as witnesses would have it. */
export interface TableRenewal {
  readonly file: FactsFile;
  readonly changes: readonly TableChange[];
  /** The rows that are new, as `openai/gpt-6.1-terra`. */
  readonly added: readonly string[];
  /** The rows that leave, because their service has ended the model, or no list of the last `PRICE_DAYS_MAX` days has it. */
  readonly left: readonly { readonly model: string; readonly reason: string }[];
  /** The number of rows about whose price witnesses disagree. */
  readonly disagreements: number;
}

/** A row before the number of its source is known. */
interface Draft {
  readonly row: Omit<FactsRow, 'source'>;
  readonly source: Source;
}

/**
 * Renews the public table. The price of a row comes from the newest list that has the model; its limits and capabilities stay as they are,
 * because lists describe them differently. A row that no witness has stays until its price is too old. This function is pure.
 * @param today such as `2026-11-30`
 */
export function renewTable(current: FactsFile, witnesses: readonly Witness[], today: string): TableRenewal {
  const statements = new Statements(witnesses);
  const changes: TableChange[] = [];
  const added: string[] = [];
  const left: { model: string; reason: string }[] = [];
  let disagreements = 0;
  const rowsIn = (preset: string, isHost: boolean): Map<string, Draft> => {
    const before = new Map(
      Object.entries(current.models[preset] ?? {}).map(([id, { source = 0, ...row }]) => [
        id,
        { row, source: current.sources[source]! },
      ]),
    );
    const drafts = new Map<string, Draft>();
    const news = statements.witnesses.flatMap((one) => [...(one.models.get(preset)?.keys() ?? [])]);
    for (const id of new Set([...before.keys(), ...news])) {
      const old = before.get(id) ?? null;
      const own = statements.witnesses.flatMap((witness): Statement[] => {
        const model = witness.models.get(preset)?.get(id);
        return model && model.price.input > 0 ? [{ witness, model }] : [];
      });
      const draft = draftOf(old, own, isHost);
      const reason = endOf(own, today) ?? (draft && isOldPrice(draft.source.as_of, today) ? UNDATED : null);
      if (reason !== null && old) left.push({ model: `${preset}/${id}`, reason });
      if (reason === null && draft && (old || unfitName(id) === null)) drafts.set(id, draft);
    }
    for (const [id, draft] of drafts) {
      const old = before.get(id);
      if (!old) {
        if (isVersion(id, draft, drafts)) drafts.delete(id);
        else added.push(`${preset}/${id}`);
        continue;
      }
      const { as_of: day } = draft.source;
      const [was, is] = [figuresIn(old.row.price, day), figuresIn(draft.row.price, day)];
      for (const field of new Set([...was.keys(), ...is.keys()])) {
        const [a = null, b = null] = [was.get(field), is.get(field)];
        if (a !== b) changes.push({ model: `${preset}/${id}`, field: `price.${field}`, old: a, new: b });
      }
      if (disagreementsOf(statements.of(preset, id)).length > 0) disagreements++;
    }
    return drafts;
  };
  const presets = SERVICES.map(({ preset, isHost = false }) => [preset, rowsIn(preset, isHost)] as const);
  const file = fileOf(presets, current);
  return { file: withWithheld(file, current), changes, added: added.sort(), left, disagreements };
}

const UNDATED = `no list of the last ${PRICE_DAYS_MAX} days has it`;

/** Adds the names of rows that left, as far as `SameModels` would find another row for them. */
function withWithheld(file: FactsFile, { models, withheld = {} }: FactsFile): FactsFile {
  const byPreset = Object.entries(file.models).map(([preset, rows]) => {
    const names = new SameModels(Object.keys(rows));
    const known = new Set([...(withheld[preset] ?? []), ...Object.keys(models[preset] ?? {})]);
    return [preset, [...known].filter((id) => !rows[id] && names.namesOf(id).length > 0).sort()] as const;
  });
  return { ...file, withheld: Object.fromEntries(byPreset.filter(([, names]) => names.length > 0)) };
}

/** Why a service no longer has a model; null if it has it. */
function endOf(statements: readonly Statement[], today: string): string | null {
  for (const { model } of statements) {
    if (model.ends !== undefined && model.ends < today) return `shut down on ${model.ends}`;
    if (model.deprecated) return 'deprecated';
  }
  return null;
}

/**
 * Returns the renewed row. A new row needs two lists with the same price, or one that names its source: lists keep models that a service
 * no longer has, above all models that it hosts for others.
 */
function draftOf(old: Draft | null, statements: readonly Statement[], isHost: boolean): Draft | null {
  const [newest, second] = statements;
  const chosen = priceOf(statements, old?.row.price);
  if (!newest || !chosen || (old && newest.witness.asOf < old.source.as_of)) return old;
  const isConfirmed = second !== undefined && isSamePrice(newest.model.price, second.model.price);
  if (!old && !isConfirmed && (isHost || !newest.model.isSourced)) return null;
  const { price, witness } = chosen;
  const { name, revision, asOf, copyright } = witness;
  const limits = limitsOf(statements, old);
  const isBilled = price.input > 0 && price.output > 0;
  const isUnfit = statements.some(({ model: { unfit } }) => unfit !== undefined && !(old && unfit === NOT_TEXT));
  if (!limits || !isBilled || isUnfit) return old;
  return { row: { price: tablePrice(price), ...limits }, source: { name, revision, as_of: asOf, copyright } };
}

/** Writes a price with the keys of a row in their order. */
const tablePrice = ({ later, ...price }: WitnessPrice): FactsRow['price'] => {
  const { tiers, hours, ...period } = tablePeriod(price);
  return {
    ...period,
    ...(tiers.length > 0 && { tiers }),
    ...(hours.length > 0 && { hours }),
    ...(later && { later: later.map(tablePeriod) }),
  };
};

const tablePeriod = ({ hours = [], service_tiers, ...rates }: WitnessPeriod) => ({
  ...tableRates(rates),
  hours: hours.map((one) => ({ ...tableRates(one), days: [...one.days] })),
  ...(service_tiers && {
    service_tiers: Object.fromEntries(Object.entries(service_tiers).map(([name, one]) => [name, tableRates(one)])),
  }),
});

const tableRates = <Rates extends WitnessRates>({ tiers = [], ...line }: Rates) => ({
  ...line,
  tiers: tiers.map((tier) => ({ ...tier })),
});

const isSamePrice = (a: WitnessPrice, b: WitnessPrice): boolean => a.input === b.input && a.output === b.output;

/** Returns limits and capabilities; null if no list states all of them. */
function limitsOf(statements: readonly Statement[], old: Draft | null): Omit<FactsRow, 'price' | 'source'> | null {
  if (old) {
    const { price: _, ...limits } = old.row;
    return limits;
  }
  for (const { model } of statements) {
    const { context_window, max_output, capabilities, temperature, released } = model;
    if (context_window === undefined || max_output === undefined || !capabilities) continue;
    return {
      context_window,
      max_output,
      capabilities: [...capabilities],
      ...(temperature === false && { temperature }),
      ...(released !== undefined && { released }),
    };
  }
  return null;
}

/** Whether a new row is only a dated name of another row with the same price, which the table finds under any date. */
function isVersion(id: string, { row }: Draft, drafts: ReadonlyMap<string, Draft>): boolean {
  const others = new SameModels([...drafts.keys()].filter((name) => name !== id));
  const [name = id, ...more] = others.namesOf(id);
  const same = name.length >= id.length || more.length > 0 ? undefined : drafts.get(name);
  return same !== undefined && JSON.stringify(same.row.price) === JSON.stringify(row.price);
}

/** Sorts rows by name and numbers their sources, the newest first. */
function fileOf(presets: readonly (readonly [string, ReadonlyMap<string, Draft>])[], current: FactsFile): FactsFile {
  const drafts = presets.flatMap(([, rows]) => [...rows.values()]);
  const sources = [...new Map(drafts.map(({ source }) => [JSON.stringify(source), source])).values()];
  sources.sort((a, b) => (a.as_of > b.as_of ? -1 : 1));
  const numbers = new Map(sources.map((source, number) => [JSON.stringify(source), number]));
  const rowsOf = (rows: ReadonlyMap<string, Draft>) =>
    [...rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { row, source }]): [string, FactsRow] => {
        const number = numbers.get(JSON.stringify(source)) ?? 0;
        return [id, { ...row, ...(number > 0 && { source: number }) }];
      });
  const models = Object.fromEntries(presets.map(([preset, rows]) => [preset, Object.fromEntries(rowsOf(rows))]));
  const copyrights = new Set([...(current.other_copyrights ?? []), ...current.sources.map((one) => one.copyright)]);
  for (const { copyright } of sources) copyrights.delete(copyright);
  const { licence } = current;
  return { sources, licence, ...(copyrights.size > 0 && { other_copyrights: [...copyrights].sort() }), models };
}

/** Writes the table with a line for each model, so that a diff shows which models changed. */
export function tableText({ models, withheld = {}, ...head }: FactsFile): string {
  const presets = Object.entries(models).map(([preset, rows]) => {
    const lines = Object.entries(rows).map(([id, row]) => `${JSON.stringify(id)}:${JSON.stringify(row)}`);
    return `${JSON.stringify(preset)}:{\n${lines.join(',\n')}}`;
  });
  const start = JSON.stringify({ ...head, withheld }).slice(0, -1);
  return `${start},"models":{\n${presets.join(',\n')}}}\n`;
}
