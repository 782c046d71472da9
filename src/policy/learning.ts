import { Type } from '@sinclair/typebox';
import { validPartsOf } from './check.ts';
import type { SourceSpan } from './diagnostics.ts';
import { type CheckContext, sectionSubject } from './schema/section-checks.ts';
import { entryOf, type Tree, valueAt } from './yaml/tree.ts';

/** The page that explains what replaced learning. */
const PAGE = '/docs/guide/route/learning.md of your server';

/** The key `learning.explore`, as version 0.1, which drew models at random, accepted it. */
const ExploreText = Type.Object({
  share: Type.Number({ minimum: 0, maximum: 1, default: 0.08 }),
  temperature: Type.Number({ minimum: 0.001, maximum: 10, default: 0.05 }),
  quality_margin: Type.Number({ minimum: 0, maximum: 1, default: 0.2 }),
});

/** Warns about the section `learning`, which has no effect. */
export function reviewLearning(context: CheckContext): void {
  const { report, sections } = context;
  const { tree } = sectionSubject('learning', context);
  const place = sections.get('learning')?.place;
  if (!place) return;
  report.add('former-key', place, '`learning` has no effect any more', { hint: `remove the section, and see ${PAGE}` });
  const changed = choicesChangedBy(tree);
  if (changed) {
    const message = `${changed.what}, so Signalbox may choose other models now`;
    report.add('choices-changed', changed.place, message, {
      hint: `declare the quality of each model by task, as accurately as you can: see ${PAGE}`,
    });
  }
}

/** Returns the key of a section `learning` that changed the choices of earlier versions; null for none. */
function choicesChangedBy(tree: Tree): { readonly what: string; readonly place: SourceSpan } | null {
  const mode = wordAt(tree, 'mode') ?? 'off';
  const isOn = mode === 'on';
  const keys = {
    mode: isOn && '`learning.mode: on` let scores change the quality of models',
    explore: mode === 'shadow' && explores(tree) && '`learning.explore` drew models at random',
    estimator: wordAt(tree, 'estimator') !== 'learned' && '`learning.estimator` named another estimator',
    options: '`learning.options` may have set how much the length of a question counts',
  };
  for (const [key, what] of Object.entries(keys)) {
    const entry = entryOf(tree, key);
    if (entry && what) return { what, place: entry.place };
  }
  return null;
}

function explores(tree: Tree): boolean {
  const explore = valueAt(tree, 'explore');
  if (explore?.kind !== 'map') return false;
  const { share, temperature, quality_margin } = validPartsOf(ExploreText, explore);
  return share !== undefined && temperature !== undefined && quality_margin !== undefined;
}

function wordAt(tree: Tree, key: string): string | null {
  const value = valueAt(tree, key);
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : null;
}
