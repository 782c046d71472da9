import { Type } from '@sinclair/typebox';
import { decisionId, named, orNull } from '../../surface/schemas/parts.ts';

export const KeptContent = named('KeptContent', 'What was kept of the words of one request and its answer.', {
  decision_id: decisionId,
  object: Type.Literal('content', { description: 'Always `content`.' }),
  prompt: orNull(
    Type.Array(Type.Unknown(), { examples: [[{ role: 'user', content: 'Write to [email].' }]] }),
    'The messages as they came, with media left out and the policy’s kinds taken out; null where prompts are not kept.',
  ),
  answer: orNull(
    Type.Array(Type.Unknown(), { examples: [[{ index: 0, content: 'Dear [email], …' }]] }),
    'What the model wrote, by choice; null where answers are not kept.',
  ),
  is_cut: Type.Boolean({ description: 'True when something was longer than what is kept.' }),
  kept_until: Type.String({
    description: 'When it is deleted, ISO 8601, UTC.',
    examples: ['2026-11-27T09:30:00.000Z'],
  }),
});
