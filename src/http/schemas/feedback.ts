import { Type } from '@sinclair/typebox';
import { decisionId, modelId, named, orNull, word } from '../../surface/schemas/parts.ts';

export const Feedback = named('Feedback', 'What became of a score.', {
  object: Type.Literal('feedback', { description: 'Always `feedback`.' }),
  decision_id: decisionId,
  model: modelId('The model that is scored: the one that answered, or was recommended.'),
  task: Type.String({ description: 'The task type that the request was taken for.', examples: ['coding'] }),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'As it was sent.', examples: [0.5] }),
  label: orNull(
    Type.String({ examples: ['unit-tests'] }),
    'As it is kept: of a score that is repeated, the first; null for none.',
  ),
  result: word(
    ['learnt', 'kept', 'repeated'],
    '`learnt`: it counts. `kept`: it is written down and counts for nothing, since this key has its share of what is learnt, or the policy counts no scores. `repeated`: this score was there already.',
  ),
  weight: Type.Number({ minimum: 0, maximum: 1, description: 'As how many outcomes it counts.', examples: [1] }),
});
