import { DAY_MS } from '../../core/time/clock.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import type { ModelText } from '../schema/model.ts';
import type { PriceText } from '../schema/price-text.ts';
import { momentMs } from '../schema/prices.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';

/** A figure of a model, with its source and date. */
export interface DeclaredFigure {
  /** Path of the figure, such as `models.gpt-5.price`. */
  readonly path: string;
  readonly place: SourceSpan;
  /** Location of `as_of`. */
  readonly dayPlace?: SourceSpan;
  /** The date on which the figure was checked; null if the policy does not state the date, undefined if the figure does not age. */
  readonly asOf?: string | null;
  /** Whether the policy states the source of the figure. */
  readonly isVerified: boolean;
  readonly expected: string;
  /** How to update the figure, if another way than editing its `as_of` is needed. */
  readonly hint?: string;
  /** The end of a price, as the policy states it; absent for a price without an end. */
  readonly until?: { readonly text: string; readonly place: SourceSpan };
}

/** Days after which a figure counts as old. */
export const STALE_AFTER_DAYS = 90;

/** Returns the price, quality and speed figures of a model. */
export function figuresOf(
  { path, tree }: NamedItem<ModelText>,
  { quality, price, latency, endpoints = [] }: ModelText,
): DeclaredFigure[] {
  const ownPrices = endpoints.map((one, at) =>
    priceFigure(`${path}.endpoints[${at}]`, valueAt(tree, 'endpoints', at), one.price),
  );
  return [
    figureAt(`${path}.quality`, valueAt(tree, 'quality') ?? tree, quality),
    priceFigure(path, tree, price),
    ...ownPrices,
    latency && figureAt(`${path}.latency`, valueAt(tree, 'latency') ?? tree, latency),
  ].filter((figure) => figure !== undefined);
}

type FigureText = ModelText['quality'] | NonNullable<ModelText['latency']>;

/** Describes a quality or latency figure. A figure without a date does not age, because most figures of operators have no date. */
const figureAt = (path: string, tree: Tree, { basis, as_of: asOf }: FigureText): DeclaredFigure => ({
  path,
  place: placeAt(tree, 'basis'),
  dayPlace: placeAt(tree, 'as_of'),
  asOf,
  isVerified: basis !== 'unknown',
  expected: '`basis: measured`, or `basis: guessed` if the figure is a guess',
});

function priceFigure(path: string, owner: Tree | undefined, text: PriceText | undefined): DeclaredFigure | undefined {
  const tree = owner && valueAt(owner, 'price');
  if (!tree || !text) return undefined;
  const { basis, as_of: asOf = null, until } = text;
  const expected = '`as_of` with the date on which you checked it, and `basis: vendor-list`, `aggregator` or `own`';
  const places = { place: placeAt(tree, 'basis'), dayPlace: placeAt(tree, 'as_of') };
  return {
    path: `${path}.price`,
    ...places,
    asOf,
    isVerified: basis !== 'unverified',
    expected,
    ...(until !== undefined && { until: { text: until, place: placeAt(tree, 'until') } }),
  };
}

/** Warns about an old or unverified figure, and about a price that has ended. @param today the date, such as `2026-10-07` */
export function reviewFigure(figure: DeclaredFigure, today: string, report: Report): void {
  const { path, place, dayPlace = place, asOf, isVerified, expected, until } = figure;
  if (until && momentMs(until.text) <= Date.parse(today)) {
    report.add('ended-price', until.place, `\`${path}\` ended on ${until.text}, and a price of \`later\` applies`, {
      hint: 'write the price that applies now in its place, with what follows it',
    });
  }
  if (!isVerified || asOf === null) {
    const lack = isVerified ? '`as_of`' : '`basis`';
    report.add('unverified-figure', place, `\`${path}\` does not state its ${lack}`, { expected });
  }
  if (!asOf) return;
  const days = Math.round((Date.parse(today) - Date.parse(asOf)) / DAY_MS);
  if (days <= STALE_AFTER_DAYS) return;
  report.add('stale-figure', dayPlace, `\`${path}\` was last checked ${days} days ago, on ${asOf}`, {
    hint: figure.hint ?? 'check the figure at its source, then update it and its `as_of`',
  });
}
