import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import type { ModelText, PriceText } from './schema-model.ts';
import type { NamedItem } from './sections.ts';
import { placeAt, type Tree, valueAt } from './tree.ts';

/** A figure of a model, with its source and age. */
export interface DeclaredFigure {
  /** Such as `models.gpt-5.price`. */
  readonly path: string;
  readonly place: SourceSpan;
  /** The place of `as_of`. */
  readonly dayPlace?: SourceSpan;
  /** The day it was seen; null if it is not stated, undefined if the figure does not age. */
  readonly asOf?: string | null;
  /** Whether its source is stated. */
  readonly isVerified: boolean;
  readonly expected: string;
}

/** Days after which a figure is stale. */
const STALE_AFTER_DAYS = 90;
const DAY_MS = 86_400_000;

/** The prices, quality and speed of a model. */
export function figuresOf({ path, tree }: NamedItem<ModelText>, data: ModelText): DeclaredFigure[] {
  const figures = [stated('quality', path, tree, data.quality)];
  if (data.price) figures.push(price(path, valueAt(tree, 'price') ?? tree, data.price));
  for (const [at, endpoint] of (data.endpoints ?? []).entries()) {
    const own = valueAt(tree, 'endpoints', at, 'price');
    if (own && endpoint.price) figures.push(price(`${path}.endpoints[${at}]`, own, endpoint.price));
  }
  if (data.latency) figures.push(stated('latency', path, tree, data.latency));
  return figures;
}

const BASIS = '`basis: measured`, or `basis: guessed` where it is';

/** Quality or latency. Without a day they do not age, because most figures of operators have none. */
function stated(
  key: 'quality' | 'latency',
  path: string,
  tree: Tree,
  { basis, as_of: asOf }: ModelText['quality'] | NonNullable<ModelText['latency']>,
): DeclaredFigure {
  return {
    path: `${path}.${key}`,
    place: placeAt(tree, key, 'basis'),
    dayPlace: placeAt(tree, key, 'as_of'),
    asOf,
    isVerified: basis !== 'unknown',
    expected: BASIS,
  };
}

function price(path: string, tree: Tree, text: PriceText): DeclaredFigure {
  return {
    path: `${path}.price`,
    place: placeAt(tree, 'basis'),
    dayPlace: placeAt(tree, 'as_of'),
    asOf: text.as_of ?? null,
    isVerified: text.basis !== 'unverified',
    expected: '`as_of` with the day it was seen, and `basis: vendor-list`, `aggregator` or `own`',
  };
}

/** Warns of a stale or unverified figure. `today`: such as `2026-10-07`. */
export function reviewFigure(figure: DeclaredFigure, today: string, report: Report): void {
  const { path, place, dayPlace = place, asOf, isVerified, expected } = figure;
  if (!isVerified || asOf === null) {
    const lack = isVerified ? '`as_of`' : '`basis`';
    report.add('unverified-figure', place, `\`${path}\` does not state its ${lack}`, { expected });
  }
  if (!asOf) return;
  const days = Math.round((Date.parse(today) - Date.parse(asOf)) / DAY_MS);
  if (days <= STALE_AFTER_DAYS) return;
  report.add('stale-figure', dayPlace, `\`${path}\` was seen ${days} days ago, on ${asOf}`, {
    hint: 'check the figure at its source, then update it and its `as_of`',
  });
}
