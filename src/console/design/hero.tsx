import type { ComponentChildren } from 'preact';
import { type ApiFailure, isForbidden } from '../api/failure.ts';
import { Explained } from './explained.tsx';
import { NONE, type WrittenFigure } from './format.ts';
import type { TermName } from './terms.ts';

interface HeroProps {
  readonly label: string;
  /** Explains the label. */
  readonly term?: TermName | undefined;
  /** Null while it is on its way. */
  readonly value: WrittenFigure | null;
  /** Below it, each on a line: what it means, and what it is compared with. */
  readonly notes?: readonly ComponentChildren[] | null | undefined;
  /** Why there is no value, where it could not be read. */
  readonly failure?: ApiFailure | null | undefined;
}

/** One of at most four figures of a view. */
export function Hero({ label, term, value, notes, failure }: HeroProps) {
  const failed = value === null ? (failure ?? null) : null;
  const shown = failed ? { short: NONE.short, exact: failed.message } : value;
  const lines = failed ? [isForbidden(failed) ? 'not open to your role' : 'could not be read'] : (notes ?? []);
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

/** The frame of the figures. */
export const Heroes = ({ children }: { readonly children: ComponentChildren }) => <dl class="figures">{children}</dl>;
