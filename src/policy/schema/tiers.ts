import { type Static, Type } from '@sinclair/typebox';
import { closed } from './parts.ts';

/** The most models of a tier. */
const TIER_MAX = 16;

const tier = (description: string, example: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: TIER_MAX, examples: [example], description });

/** The tiers of a selector. */
export const TiersText = Type.Optional(
  Type.Union(
    [
      Type.Literal('off', { description: 'The strategy ranks all models for each request.' }),
      closed('The models of both tiers, in the order in which they are tried.', {
        usual: tier('Models for usual requests.', ['gpt-6-luna', 'gemini-3.5-flash']),
        strong: tier('Models for hard requests, and for conversations in which answers failed.', ['gpt-6.1-sol']),
      }),
    ],
    {
      examples: [{ usual: ['gpt-6-luna', 'gemini-3.5-flash'], strong: ['gpt-6.1-sol'] }, 'off'],
      expected: '`off`, or lists of model IDs for `usual` and `strong`',
      description:
        'The models for usual and for strong requests: each conversation keeps to one list. Default in version 2: the strategy derives both lists from the typical traffic when the policy is loaded. `off`, and version 1: the strategy ranks all models for each request. For `auto-cheap` and `auto-fast`, `off` is inherited from `auto`.',
    },
  ),
);
export type TiersText = Static<typeof TiersText>;
