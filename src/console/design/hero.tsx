import type { ComponentChildren } from 'preact';
import { type ApiFailure, isForbidden } from '../api/failure.ts';
import { Explained } from './explained.tsx';
import { NONE, type WrittenFigure } from './format.ts';
import type { TermName } from './terms.ts';

interface HeroProps {
  readonly label: string;
  /** The glossary term that explains the label. */
  readonly term?: TermName | undefined;
  /** The figure; null while it is loading. */
  readonly value: WrittenFigure | null;
  /** Lines below the figure: the meaning of the figure, and the figure that it is compared with. */
  readonly notes?: readonly ComponentChildren[] | null | undefined;
  /** Why the figure could not be read. */
  readonly failure?: ApiFailure | null | undefined;
}

/** Shows a main figure of a view, which has at most four main figures. */
export function Hero({ label, term, value, notes, failure }: HeroProps) {
  const failed = value === null ? (failure ?? null) : null;
  const shown = failed ? { short: NONE.short, exact: failed.message } : value;
  const lines = failed ? [isForbidden(failed) ? 'not available to your role' : 'could not be read'] : (notes ?? []);
  return (
    <div class="hero">
      <dt class="dim">{term ? <Explained term={term}>{label}</Explained> : label}</dt>
      <dd>
        <div class="hero-value" title={shown?.exact}>
          {shown ? shown.short : <span class="unseen">is loading</span>}
          {shown ? null : <span aria-hidden="true">&nbsp;</span>}
        </div>
        <div class="hero-notes small dim">
          {lines.filter(Boolean).map((note, at) => (
            <div key={at}>{note}</div>
          ))}
        </div>
      </dd>
    </div>
  );
}

/** The container of the main figures. */
export const Heroes = ({ children }: { readonly children: ComponentChildren }) => <dl class="figures">{children}</dl>;
