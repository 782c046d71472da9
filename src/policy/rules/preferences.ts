import type { Static } from '@sinclair/typebox';
import { closed, figure } from '../../core/define/fields.ts';
import { expression, itemName } from '../../core/define/policy-words.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import type { NamedItem } from '../check/section-checks.ts';
import { defineList, ORDINARY } from '../define/section.ts';
import { placeAt } from '../yaml/tree.ts';
import { type CheckedRule, draftRule, RULE_NAME, when } from './rule-draft.ts';

const PreferenceText = closed('A soft rule, which raises or lowers the quality of models.', {
  name: itemName(RULE_NAME, 'own-hardware-at-night'),
  when,
  prefer: expression(
    'Condition that is true for the preferred models: CEL over `model`.',
    '"local" in model.tags',
    'model.provider == "ollama"',
  ),
  worth: figure(
    'How much the rule adds to the quality of the preferred models. 0.05 counts as if 5 more answers in 100 were good. A negative figure lowers the quality.',
    { minimum: -1, maximum: 1, example: 0.05 },
  ),
});

/** A preference whose expressions are not checked yet. */
type PreferenceDraft = ReturnType<typeof draftPreference>;
export type CheckedPreference = CheckedRule<PreferenceDraft, 'prefer'>;

/** The section `preferences`. The snapshot has the preferences with the models that they prefer. */
export const PREFERENCES = defineList({
  name: 'preferences',
  description: 'Soft rules, which raise or lower the quality of models.',
  item: PreferenceText,
  guard: ORDINARY,
  page: ['Choose', 'language.md#constraints-and-preferences'],
  draft: (items) => items.map(draftPreference),
  compile(draft, { check, report }): CheckedPreference {
    const checked = { draft, when: check.condition(draft.when, 'when'), prefer: check.of(draft.prefer, 'model') };
    if (draft.worth === 0) {
      const message = `preference \`${draft.name}\` has a worth of 0, so it has no effect`;
      report.add('prefers-none', draft.worthPlace, message, {
        hint: 'remove the preference, or set `worth` to another value',
      });
    }
    return checked;
  },
});

function draftPreference(named: NamedItem<Static<typeof PreferenceText>>) {
  const prefer = expressionAt(named, 'prefer');
  /** `worth` is null if the figure in the policy is wrong. */
  const worth = named.data?.worth ?? null;
  return { ...draftRule(named), prefer, worth, worthPlace: placeAt(named.tree, 'worth') };
}
