import { Type } from '@sinclair/typebox';
import { BUDGET_CREDITS_MAX } from '../../access/terms.ts';

export { keptText } from '../../admin/terms.ts';

export const addedCredits = Type.Number({
  minimum: -BUDGET_CREDITS_MAX,
  maximum: BUDGET_CREDITS_MAX,
  // For the document: the handler refuses 0.
  not: { const: 0 },
  description: 'Credits to add, with at most 6 decimals and not 0. A negative amount takes Credits back.',
});
