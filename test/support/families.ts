import type { Family } from '../../src/host/telemetry/families.ts';

/** Returns the current values of metric families, under name and labels as on the metrics page; for a histogram its count and sum. */
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
    for (const [labels, value, suffix = ''] of family.samples()) {
      if (suffix !== '_bucket') put(named(suffix, labels), value);
    }
  }
  return figures;
}
