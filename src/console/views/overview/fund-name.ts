import type { ReadOf } from '../../api/reads.ts';
import { isAddress, shortAddress } from '../../design/format.ts';

type FundUsage = ReadOf<'/admin/ledger'>['funds'][number];

/** The name of a fund for people. A budget that its author named after its team is not called `search of search`. */
export function fundName({
  name,
  title,
  subject_name: called,
}: Pick<FundUsage, 'name' | 'title' | 'subject_name'>): string {
  if (isAddress(name)) return title.replace(name, shortAddress(name));
  const isNamedAfter = called !== null && title === `${name} of ${called}` && name.split(/[-_ .]/).includes(called);
  return isNamedAfter ? name : title;
}
