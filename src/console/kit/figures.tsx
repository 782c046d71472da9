import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import type { WrittenFigure } from '../design/format.ts';
import { Hero, Heroes } from '../design/hero.tsx';
import type { TermName } from '../design/terms.ts';

/** A main figure of a view, which has at most four main figures. */
export interface ViewFigure<Data> {
  /** The name of the figure, which can depend on the data; `data` is null until they are read. */
  readonly label: string | ((data: Data | null) => string);
  /** The glossary term that explains the label. */
  readonly term?: TermName;
  readonly value: (data: Data) => WrittenFigure;
  /** Lines below the figure: the meaning of the figure, and the figure that it is compared with. Empty lines are left out. */
  readonly notes?: (data: Data) => readonly ComponentChildren[];
}

interface FiguresProps<Data> {
  readonly of: Resource<Data>;
  readonly figures: readonly ViewFigure<Data>[];
}

/**
 * The main figures of a view, all from one response. While the response is loading, or if the request failed, each figure shows that state.
 * @example <Figures
 *   of={ledger}
 *   figures={[
 *     { label: 'Charged', value: ({ charged_usd }) => usd(charged_usd), notes: () => ['less refunds'] },
 *   ]} />
 */
export const Figures = <Data,>({ of: { data, failure }, figures }: FiguresProps<Data>) => (
  <Heroes>
    {figures.map(({ label, term, value, notes }, at) => (
      <Hero
        key={at}
        label={typeof label === 'string' ? label : label(data)}
        term={term}
        failure={failure}
        value={data && value(data)}
        notes={data && notes?.(data)}
      />
    ))}
  </Heroes>
);
