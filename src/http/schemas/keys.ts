import { Type } from '@sinclair/typebox';
import { ONE_LINE, TEXT_MAX } from '../../access/terms.ts';
import * as terms from '../../admin/terms.ts';
import * as field from '../../api/parts.ts';

/** A text that is kept and shown. For the document: `checkText` refuses other texts, with what would be right. */
export const KeptText = Type.String({ allOf: [{ maxLength: TEXT_MAX, pattern: ONE_LINE.source }] });

export const keptText = (description: string, example: string) => ({ ...KeptText, description, examples: [example] });

export const keptTextOrNull = (description: string, ...examples: string[]) =>
  field.orNull(KeptText, description, ...examples);

/** IDs of models, or null. */
export const modelIds = (description: string) => field.orNull(Type.Array(KeptText, { minItems: 1 }), description);

export const LimitsRequest = terms.LimitsInput;
export const BudgetRequest = terms.BudgetInput;
/** A budget with what is spent of it. */
export const budgetUse = terms.BudgetStatus.properties;
