/** The metrics page of one process. */
export interface ProcessPage {
  /** The value of the label `instance`. */
  readonly instance: string;
  readonly text: string;
}

interface MergedFamily {
  readonly head: string[];
  readonly samples: string[];
}

/**
 * Merges the metrics pages of several processes into one page: each family once, each sample with the label `instance`.
 * @param isOfAll whether a family has the same value in every process: the merged page then has the value of the first process, without the
 * label
 */
export function mergedPage(pages: readonly ProcessPage[], isOfAll: (family: string) => boolean): string {
  const families = new Map<string, MergedFamily>();
  for (const { instance, text } of pages) {
    let name = '';
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [, of] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? [];
      name = of ?? name;
      const family = families.get(name) ?? { head: [], samples: [] };
      families.set(name, family);
      if (of !== undefined) {
        if (family.head.length < 2 && !family.head.includes(line)) family.head.push(line);
      } else if (!isOfAll(name)) family.samples.push(labelled(line, instance));
      else if (instance === pages[0]?.instance) family.samples.push(line);
    }
  }
  return [...families.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`).join('\n');
}

/** The name of a metric ends at the brace that opens its labels, or at the space before its value. */
function labelled(line: string, instance: string): string {
  const end = line.search(/[{ ]/);
  const label = `instance="${instance}"`;
  const rest = line.slice(end);
  return line.slice(0, end) + (rest.startsWith('{') ? `{${label},${rest.slice(1)}` : `{${label}}${rest}`);
}
