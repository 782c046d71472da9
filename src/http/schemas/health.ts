import { Type } from '@sinclair/typebox';
import { named, policyRevision, word } from './parts.ts';

export const Health = named('Health', 'The process answers.', {
  status: Type.Literal('ok', { description: 'Always `ok`.' }),
});

export const Readiness = named('Readiness', 'Whether requests should be sent here.', {
  status: word(['ready', 'draining'], '`draining`, with status 503, once the process is to stop.'),
  policy_revision: policyRevision,
  models: Type.Integer({ minimum: 0, description: 'How many models can be served.' }),
});
