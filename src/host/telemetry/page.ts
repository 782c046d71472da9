import { counter, type LabelledCounter } from './counts.ts';
import type { Family } from './families.ts';

const NAME = /^[A-Za-z_:][\w:]*$/;

/**
 * Makes metrics pages of these families in Prometheus' text format 0.0.4. If a metric family throws, the page has no samples of it, and the
 * server counts the failure.
 * @throws Error if two families have the same name, or a name is invalid
 */
export function metricsPage(families: readonly Family[]): () => string {
  const errors = metricsErrors();
  // The family that counts the errors of a metrics page is the last one, so that it includes the errors of the same page.
  const all = [...families, errors.family];
  const names = new Set<string>();
  for (const { name, labels } of all) {
    if (names.has(name)) throw new Error(`Two metric families have the name ${name}.`);
    if (![name, ...labels].every((one) => NAME.test(one)))
      throw new Error(`${name} or one of its labels is not a valid name.`);
    names.add(name);
  }
  const partOf = (family: Family): string => {
    const { name, help, type } = family;
    let samples = '';
    try {
      samples = sampleLines(family);
    } catch {
      errors.at().value++;
    }
    return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${samples}`;
  };
  return () => all.map(partOf).join('\n');
}

export const metricsErrors = (): LabelledCounter =>
  counter({
    name: 'signalbox_metrics_errors_total',
    help: 'Metrics that could not be read.',
    labels: [],
  });

function sampleLines(family: Family): string {
  let lines = '';
  for (const [labels, value, suffix = ''] of family.samples()) {
    const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text).replaceAll('"', '\\"')}"`);
    lines += `${family.name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
  }
  return lines;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
