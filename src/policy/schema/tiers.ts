import { type Static, Type } from '@sinclair/typebox';
import { closed } from '../../core/define/fields.ts';

/** The most models of a tier. */
const TIER_MAX = 16;

const tier = (description: string, example: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: TIER_MAX, examples: [example], description });

/** The tiers of a selector. */
export const TiersText = Type.Optional(
  closed(
    'The models of the selector, in the order in which they are tried. Default: the strategy orders the models when the policy is loaded.',
    {
      usual: tier('Models for usual requests.', ['gpt-6-luna', 'gemini-3.5-flash']),
      strong: tier('Models for hard requests, and for conversations in which answers failed.', ['gpt-6.1-sol']),
    },
  ),
);
export type TiersText = Static<typeof TiersText>;
