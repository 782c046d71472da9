import type { FactsFile, FactsRow } from '../../../policy/models/facts.ts';
import { SameModels } from '../../../policy/models/same-model.ts';
import { disagreementsOf, figuresIn, priceOf, type Statement, Statements } from './statements.ts';
import { ALIASES, SERVICES, unfitName, type Witness, type WitnessPrice } from './witnesses/witness.ts';

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
  /** Rows of models that their service has ended. They stay, because a request for such a name must never get another row's lower price. */
  readonly ended: readonly { readonly model: string; readonly reason: string }[];
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
 * because lists describe them differently. A row that no witness has stays, with its date. This function is pure.
 * @param today such as `2026-11-30`
 */
export function renewTable(current: FactsFile, witnesses: readonly Witness[], today: string): TableRenewal {
  const statements = new Statements(witnesses);
  const changes: TableChange[] = [];
  const added: string[] = [];
  const ended: { model: string; reason: string }[] = [];
  let disagreements = 0;
  const rowsIn = (preset: string, isHost: boolean): Map<string, Draft> => {
    const before = new Map(
      Object.entries({ ...current.models[preset], ...current.moving?.[preset] }).map(([id, { source = 0, ...row }]) => [
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
      const reason = endOf(own, today);
      if (reason !== null && old) ended.push({ model: `${preset}/${id}`, reason });
      const draft = reason === null || old ? draftOf(old, own, isHost, today) : null;
      if (draft && (old || unfitName(id) === null)) drafts.set(id, draft);
    }
    for (const [id, draft] of drafts) {
      const old = before.get(id);
      if (!old) {
        if (isVersion(id, draft, drafts)) drafts.delete(id);
        else added.push(`${preset}/${id}`);
        continue;
      }
      const [was, is] = [figuresIn(old.row.price), figuresIn(draft.row.price)];
      for (const field of new Set([...was.keys(), ...is.keys()])) {
        const [a = null, b = null] = [was.get(field), is.get(field)];
        if (a !== b) changes.push({ model: `${preset}/${id}`, field: `price.${field}`, old: a, new: b });
      }
      if (disagreementsOf(statements.of(preset, id)).length > 0) disagreements++;
    }
    return drafts;
  };
  const presets = SERVICES.map(({ preset, isHost = false }) => [preset, rowsIn(preset, isHost)] as const);
  const file = fileOf(presets, current.licence);
  return { file, changes, added: added.sort(), ended, disagreements };
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
function draftOf(old: Draft | null, statements: readonly Statement[], isHost: boolean, today: string): Draft | null {
  const [newest, second] = statements;
  const chosen = priceOf(statements, today);
  if (!newest || !chosen || (old && newest.witness.asOf < old.source.as_of)) return old;
  const isConfirmed = second !== undefined && isSamePrice(newest.model.price, second.model.price);
  if (!old && !isConfirmed && (isHost || !newest.model.isSourced)) return null;
  const { price, witness } = chosen;
  const { name, revision, asOf, copyright } = witness;
  const limits = limitsOf(statements, old);
  const isBilled = price.input > 0 && price.output > 0;
  if (!limits || !isBilled || statements.some(({ model }) => model.unfit !== undefined)) return old;
  return { row: { price: tablePrice(price), ...limits }, source: { name, revision, as_of: asOf, copyright } };
}

/** Writes a price with the keys of a row in their order. */
const tablePrice = ({ tiers, ...line }: WitnessPrice): FactsRow['price'] => ({
  ...line,
  ...(tiers && { tiers: tiers.map((tier) => ({ ...tier })) }),
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
function fileOf(presets: readonly (readonly [string, ReadonlyMap<string, Draft>])[], licence: string): FactsFile {
  const drafts = presets.flatMap(([, rows]) => [...rows.values()]);
  const sources = [...new Map(drafts.map(({ source }) => [JSON.stringify(source), source])).values()];
  sources.sort((a, b) => (a.as_of > b.as_of ? -1 : 1));
  const numbers = new Map(sources.map((source, number) => [JSON.stringify(source), number]));
  const rowsOf = (preset: string, rows: ReadonlyMap<string, Draft>, areMoving: boolean) => {
    const own = [...rows].filter(([id]) => (ALIASES[preset]?.includes(id) ?? false) === areMoving);
    own.sort(([a], [b]) => (a < b ? -1 : 1));
    return own.map(([id, { row, source }]): [string, FactsRow] => {
      const number = numbers.get(JSON.stringify(source)) ?? 0;
      return [id, { ...row, ...(number > 0 && { source: number }) }];
    });
  };
  const byPreset = (areMoving: boolean) =>
    Object.fromEntries(
      presets
        .filter(([preset]) => !areMoving || preset in ALIASES)
        .map(([preset, rows]) => [preset, Object.fromEntries(rowsOf(preset, rows, areMoving))]),
    );
  return { sources, licence, models: byPreset(false), moving: byPreset(true) };
}

/** Writes the table with a line for each model, so that a diff shows which models changed. */
export function tableText({ models, moving = {}, ...head }: FactsFile): string {
  const rowsText = (byPreset: FactsFile['models']): string => {
    const presets = Object.entries(byPreset).map(([preset, rows]) => {
      const lines = Object.entries(rows).map(([id, row]) => `${JSON.stringify(id)}:${JSON.stringify(row)}`);
      return `${JSON.stringify(preset)}:{\n${lines.join(',\n')}}`;
    });
    return `{\n${presets.join(',\n')}}`;
  };
  return `${JSON.stringify(head).slice(0, -1)},"models":${rowsText(models)},"moving":${rowsText(moving)}}\n`;
}
