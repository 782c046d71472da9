import { join } from 'node:path';
import { reviewFigures } from '../src/policy/compile.ts';
import { loadFacts } from '../src/policy/models/facts.ts';
import { Report } from '../src/policy/report/report.ts';
import { parseFiles } from '../src/policy/runtime/parse-files.ts';
import { readBundle } from '../src/policy/runtime/source.ts';

/**
 * Lists the figures of the shipped policy for which `signalbox policy check` and `signalbox doctor` would warn because of their age.
 * @param root the folder of the sources
 * @param day such as `2026-11-28`
 */
export async function staleFigures(root: string, day: string): Promise<readonly string[]> {
  const { files } = await readBundle(join(root, 'policies'));
  const { policy } = await parseFiles(files, null);
  const report = new Report();
  reviewFigures(policy, { today: day, facts: await loadFacts() }, report);
  return report.found.filter(({ code }) => code === 'stale-figure').map(({ message }) => message);
}
