import { Type } from '@sinclair/typebox';
import { BudgetText } from './schema-budgets.ts';
import { RATE_KEYS } from './schema-limits.ts';
import { closed } from './schema-parts.ts';

const { limit_credits, window, time_zone, on_exhausted } = BudgetText.properties;

const LevelBudgetText = closed('A limit on what a level spends in a window of time.', {
  limit_credits,
  window,
  time_zone,
  on_exhausted,
});

const TERMS = {
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 1_000,
      examples: [['gpt-6-luna']],
      description: 'IDs of the models that it may use. Default: all that the other levels allow.',
    }),
  ),
  limits: Type.Optional(
    closed('Rate limits of all of it together, beside those of the other levels.', RATE_KEYS, {
      minProperties: 1,
      examples: [{ requests_per_minute: 600 }],
    }),
  ),
  budgets: Type.Array(LevelBudgetText, {
    maxItems: 16,
    default: [],
    examples: [[{ limit_credits: 200_000, window: 'month' }]],
    description: 'Budgets of all of it together, beside those of the other levels.',
  }),
};

const MemberDefaultsText = closed('Terms of each member that states none of its own.', TERMS, {
  examples: [{ budgets: [{ limit_credits: 5_000, window: 'month' }] }],
});

export const OrganizationText = closed('Terms of all keys and users of this installation together.', {
  ...TERMS,
  member_defaults: Type.Optional(MemberDefaultsText),
});

const teamName = (example: string, description: string) =>
  Type.String({
    pattern: '^(?!team_[0-9a-z]{17}$)[^\\s\\x00-\\x1f](?:[^\\x00-\\x1f]{0,126}[^\\s\\x00-\\x1f])?$',
    expected: '1 to 128 characters in one line, without spaces around them, not like the ID of a team',
    examples: [example],
    description,
  });

export const TeamText = closed('A team, with the terms of all of its keys and users together.', {
  name: teamName(
    'search',
    'Its name. To rename the team, change it and add `formerly`. It has nothing to do with a label `team` of keys.',
  ),
  formerly: Type.Optional(
    teamName(
      'find',
      'The former name of a team that you rename. If no team has the new name, the team with this name gets it, and keeps its ID, keys and budget windows. Otherwise it has no effect.',
    ),
  ),
  ...TERMS,
  member_defaults: Type.Optional(MemberDefaultsText),
});
