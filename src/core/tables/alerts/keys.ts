import { Type } from '@sinclair/typebox';
import { whole } from '../../define/fields.ts';

/** The keys of rules that several events share. */

export const BUDGETS = Type.Array(Type.String({ minLength: 1 }), {
  maxItems: 500,
  default: [],
  examples: [['team-month']],
  description:
    'names of the budgets to watch, also IDs such as `team-month:cap` for the budgets of teams. Default: all budgets.',
});

export const windowMinutes = (usual: number) =>
  whole('over how many minutes the figure is computed.', { minimum: 5, maximum: 1_440, default: usual, example: 60 });

/** @param description what lasts for so many seconds */
export const afterSeconds = (description: string) => whole(description, { minimum: 0, maximum: 86_400, default: 60 });
