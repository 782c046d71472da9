import type { ExpressionFile } from './data-shapes.ts';

type ExpressionRow = ExpressionFile['expressions'][string];
type FigureRow = NonNullable<ExpressionFile['figures']>[string];

/** Returns the expressions of a data file, by name. */
export function expressionsOf<Name extends string>(file: {
  readonly expressions: Readonly<Record<Name, ExpressionRow>>;
}): Readonly<Record<Name, RegExp>> {
  const all = Object.entries<ExpressionRow>(file.expressions);
  return Object.fromEntries(all.map(([name, { any, flags }]) => [name, new RegExp(any.join('|'), flags)])) as Record<
    Name,
    RegExp
  >;
}

/** Returns the figures of a data file, by name. */
export function figuresOf<Name extends string>(file: {
  readonly figures: Readonly<Record<Name, FigureRow>>;
}): Readonly<Record<Name, number>> {
  const all = Object.entries<FigureRow>(file.figures);
  return Object.fromEntries(all.map(([name, { value }]) => [name, value])) as Record<Name, number>;
}
