import { Type } from '@sinclair/typebox';
import { closed } from '../../core/define/fields.ts';
import { writtenAs } from '../../core/define/policy-words.ts';
import { RATE_KEYS } from '../schema/limits.ts';
import { BudgetText, ONE_LIMIT } from '../sections/budgets.ts';

const { limit_credits, limit_usd, window, time_zone, on_exhausted } = BudgetText.properties;

export const LevelBudgetText = closed(
  'A limit on the Credits that all keys of the level spend together in a window of time.',
  {
    limit_credits,
    limit_usd,
    window,
    time_zone,
    on_exhausted,
  },
  ONE_LIMIT,
);

const TERMS = {
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 1_000,
      examples: [['gpt-6-luna']],
      description:
        'IDs of the models that the keys of this level may use. Default: all models that the other levels allow.',
    }),
  ),
  limits: Type.Optional(
    closed('Rate limits for all keys of the level together. The limits of the other levels also apply.', RATE_KEYS, {
      minProperties: 1,
      examples: [{ requests_per_minute: 600 }],
    }),
  ),
  budgets: Type.Array(LevelBudgetText, {
    maxItems: 16,
    default: [],
    examples: [[{ limit_credits: 200_000, window: 'month' }]],
    description: 'Budgets for all keys of the level together. The budgets of the other levels also apply.',
  }),
};

const MemberDefaultsText = closed('Terms for each member who has no terms of their own.', TERMS, {
  examples: [{ budgets: [{ limit_credits: 5_000, window: 'month' }] }],
});

export const OrganizationText = closed('Terms for all keys and users of this installation together.', {
  ...TERMS,
  member_defaults: Type.Optional(MemberDefaultsText),
});

const teamName = (example: string, description: string) =>
  Type.String({
    pattern: '^(?!team_[0-9a-z]{17}$)[^\\s\\x00-\\x1f](?:[^\\x00-\\x1f]{0,126}[^\\s\\x00-\\x1f])?$',
    expected: '1 to 128 characters in one line, without spaces around them, and not in the form of a team’s ID',
    examples: [example],
    description,
  });

export const TeamText = closed(
  'A team, with terms for all of its keys and users together.',
  {
    name: teamName(
      'search',
      'Name of the team. To rename the team, change the name and add `formerly`. The key label `team` is independent of it.',
    ),
    formerly: Type.Optional(
      teamName(
        'find',
        'The previous name of a team that you rename. If no team has the new name yet, the team with the previous name is renamed and keeps its ID, keys and budget windows. Otherwise the key has no effect.',
      ),
    ),
    ...TERMS,
    member_defaults: Type.Optional(MemberDefaultsText),
  },
  writtenAs('name: {value}'),
);
