import { text } from '../../core/define/fields.ts';
import { checkValue } from '../check/check.ts';
import { statedSubject } from '../check/section-checks.ts';
import { defineInput, ORDINARY } from '../define/section.ts';
import { MODELS } from './catalog.ts';

const BaselineText = text(
  'ID of the model that savings are compared with. Default: the eligible model with the best quality.',
  {
    minLength: 1,
    example: 'gpt-6.1-sol',
  },
);

/** The section `baseline`; null for none. The model need not be available in this environment. */
export const BASELINE = defineInput({
  name: 'baseline',
  text: BaselineText,
  guard: ORDINARY,
  draft({ of, sections, report }): string | null {
    const subject = statedSubject('baseline', sections);
    if (!subject) return null;
    const { ids } = of(MODELS);
    const id = checkValue(BaselineText, subject, report);
    if (id !== null && !ids.has(id)) report.addUnknown('model', id, ids.keys(), subject.tree.place);
    return id;
  },
});
