export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

/** One metric with its samples, as Prometheus reads them. */
export function family(name: string, type: 'counter' | 'gauge', help: string, samples: Iterable<Sample>): string {
  let lines = '';
  for (const [labels, value] of samples) lines += `${name}${labelText(labels)} ${value}\n`;
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** A line break would end the sample. */
const escaped = (value: string): string => value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n');

/** Of what was measured: more digits would claim more than is known. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
