import type { ComponentChildren } from 'preact';
import type { WrittenFigure } from './format.ts';

interface HeroProps {
  readonly label: string;
  /** Null while it is on its way. */
  readonly value: WrittenFigure | null;
  /** Below it, each on a line: what it means, and what it is compared with. */
  readonly notes?: readonly string[] | null;
}

/** One of at most four figures of a view. */
export const Hero = ({ label, value, notes }: HeroProps) => (
  <div class="hero">
    <dt class="dim">{label}</dt>
    <dd>
      <div class="hero-value" title={value?.exact}>
        {value ? value.short : <span class="unseen">is loading</span>}
        {value ? null : <span aria-hidden="true">&nbsp;</span>}
      </div>
      <div class="hero-notes small dim">
        {(notes ?? []).filter(Boolean).map((note) => (
          <div key={note}>{note}</div>
        ))}
      </div>
    </dd>
  </div>
);

/** The frame of the figures. */
export const Heroes = ({ children }: { readonly children: ComponentChildren }) => <dl class="figures">{children}</dl>;
