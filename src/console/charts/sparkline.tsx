import { pathOf, scaled } from './scale.ts';

/** Shows the recent course of a row's figure. The sparkline has no axes, so the row also shows the figure as a number. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const x = scaled(0, Math.max(1, values.length - 1), 2, 94);
  const y = scaled(0, Math.max(1e-12, ...values.map((value) => value ?? 0)), 22, 2);
  return (
    <svg class="sparkline" viewBox="0 0 96 24" aria-hidden="true">
      <path class="chart-line" d={pathOf(values, x, y)} stroke="var(--accent)" />
    </svg>
  );
}
