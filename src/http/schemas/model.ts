import { Type } from '@sinclair/typebox';
import { listOf, modelId, named, unixTime } from '../../surface/schemas/parts.ts';

export const Model = named('Model', 'A model or a selector, in OpenAI’s shape.', {
  id: modelId('What to send as `model`.'),
  object: Type.Literal('model', { description: 'Always `model`.' }),
  created: unixTime('When the model came out; 0 for a selector.'),
  owned_by: Type.String({ description: 'The provider asked first; `signalbox` for a selector.', examples: ['openai'] }),
});

export const ModelList = named(
  'ModelList',
  'Selectors first, then the models that the key may pin.',
  listOf(Model, 'All there are; the list has no pages.'),
);
