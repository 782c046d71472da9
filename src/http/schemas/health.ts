import { Type } from '@sinclair/typebox';
import { named, policyRevision, word } from '../../surface/schemas/parts.ts';

export const Health = named('Health', 'The process answers.', {
  status: Type.Literal('ok', { description: 'Always `ok`.' }),
});

export const Readiness = named('Readiness', 'Whether requests should be sent here.', {
  status: word(
    ['ready', 'draining', 'unwritable'],
    '`draining`, with status 503, once the process is to stop. `unwritable`, with status 503, while the database cannot be written: the disk is full or broken, or another server has taken over the data folder.',
  ),
  policy_revision: policyRevision,
  models: Type.Integer({ minimum: 0, description: 'How many models can be served.', examples: [4] }),
  policy: Type.Object(
    {
      state: word(
        ['in_force', 'edit_refused'],
        '`edit_refused`: the files hold a policy that was refused; the one before serves on.',
      ),
      message: Type.String({
        description: 'How the last look at the files ended; `/admin/policy` tells more.',
        examples: ['The files say what is in force.'],
      }),
    },
    { description: 'How the policy in force stands to its files.' },
  ),
});
