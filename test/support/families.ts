import type { Family } from '../../src/telemetry/families.ts';

/** What families show now, by name and labels as in a page of metrics; of a histogram its count and its sum. */
export function figuresOf(families: readonly Family[]): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const family of families) {
    const named = (suffix: string, labels: Readonly<Record<string, string>>): string => {
      if (Object.keys(labels).join() !== family.labels.join())
        throw new Error(`other labels than ${family.name} states`);
      const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      return family.name + suffix + (pairs.length === 0 ? '' : `{${pairs.join(',')}}`);
    };
    const put = (name: string, value: number) => {
      if (name in figures) throw new Error(`${name} is there twice`);
      figures[name] = value;
    };
    if (family.type === 'histogram') {
      for (const { labels, counts, sum } of family.spreads()) {
        if (counts.length !== family.bounds.length + 1) throw new Error(`${family.name} has other buckets than bounds`);
        put(
          named('_count', labels),
          Array.from(counts).reduce((all, one) => all + one, 0),
        );
        put(named('_sum', labels), sum);
      }
    } else for (const [labels, value] of family.samples()) put(named('', labels), value);
  }
  return figures;
}
