import { addressOf } from '../../core/money/holder-address.ts';
import { isSubject } from '../../core/people/subject.ts';
import { capital, didYouMean } from '../../core/text/text.ts';
import { similarName } from '../../routing/model-name.ts';

/** The keys or the teams of a server or a database. */
interface KnownNames {
  /** Whether a text is an ID or a name. Rejects with StoreError. */
  has(text: string): boolean | Promise<boolean>;
  /** Returns the names that a misspelt text may stand for. Rejects with StoreError. */
  names(): readonly string[] | Promise<readonly string[]>;
}

/** The keys and teams that a filter can name. */
export interface FilterNames {
  readonly key: KnownNames;
  readonly team: KnownNames;
}

/**
 * Returns a sentence for each filter that names no key and no team, with the name that was probably meant. A filter is not refused, because
 * deleted teams still have recorded requests.
 */
export async function unknownNames(
  filters: { readonly [Kind in keyof FilterNames]?: string | undefined },
  known: FilterNames,
): Promise<readonly string[]> {
  const sentences = (['key', 'team'] as const).map(async (kind) => {
    const text = filters[kind];
    if (text === undefined || addressOf(text) !== null || isSubject(text) || (await known[kind].has(text))) return [];
    const meant = similarName(text, await known[kind].names());
    const advice = meant === null ? '' : ` ${capital(didYouMean(meant))}`;
    return [`No ${kind} has the ID or name \`${text}\`.${advice}`];
  });
  return (await Promise.all(sentences)).flat();
}
