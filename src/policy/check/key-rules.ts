import type { TSchema } from '@sinclair/typebox';
import { either } from '../../core/text/text.ts';
import type { Report } from '../report/report.ts';
import { placeAt } from '../yaml/tree.ts';
import type { Subject } from './check.ts';
import { isStated } from './peer-keys.ts';

/** Reports a map that has none of the keys of which its schema requires at least one. */
export function checkNeeded({ anyOf }: TSchema, { path, tree, place }: Subject, report: Report, hint?: string): void {
  const keys: readonly string[] = anyOf.map(({ required: [key] }: TSchema) => key);
  if (tree.kind !== 'map' || keys.some((key) => isStated(tree, key))) return;
  report.add('missing-key', place, `\`${path}\` needs the key ${either(keys.map((key) => `\`${key}\``))}`, { hint });
}

/** Reports keys of a map that another key excludes. @param expected says what would be correct instead of a key */
export function checkExcluded(
  { dependencies }: TSchema,
  { path, tree }: Pick<Subject, 'path' | 'tree'>,
  report: Report,
  expected: (key: string) => string = () => 'one of them',
): void {
  for (const [key, { properties }] of Object.entries<TSchema>(dependencies)) {
    for (const other of isStated(tree, key) ? Object.keys(properties) : []) {
      if (!isStated(tree, other)) continue;
      const message = `\`${path}\` has both \`${key}\` and \`${other}\``;
      report.add('conflicting-keys', placeAt(tree, other), message, { expected: expected(other) });
    }
  }
}
