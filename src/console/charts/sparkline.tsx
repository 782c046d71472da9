import { scaled } from './scale.ts';

/** The shape of a row's last while, beside its figure: it has no axes, so the row says the numbers. */
export function Sparkline({
  values,
  className = 'mark-accent',
}: {
  readonly values: readonly (number | null)[];
  readonly className?: string;
}) {
  const x = scaled(0, Math.max(1, values.length - 1), 2, 94);
  const y = scaled(0, Math.max(1e-12, ...values.map((value) => value ?? 0)), 22, 2);
  let path = '';
  values.forEach((value, at) => {
    if (value === null) return;
    path += `${at > 0 && (values[at - 1] ?? null) !== null ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return (
    <svg class={`sparkline ${className}`} viewBox="0 0 96 24" aria-hidden="true">
      <path class="chart-line" d={path} stroke="currentColor" />
    </svg>
  );
}
