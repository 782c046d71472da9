import * as field from '../../core/api/parts.ts';

export const Health = field.named('Health', 'The process answers.', {
  status: field.always('ok'),
});

export const Readiness = field.named('Readiness', 'Whether requests should be sent here.', {
  status: field.word(
    ['ready', 'draining', 'unwritable'],
    '`draining`, with status 503, while the server is stopping. `unwritable`, with status 503, while the database cannot be written: the disk is full or broken, or another server has taken over the data folder.',
  ),
  policy_revision: field.policyRevision,
  models: field.count('How many models can be served.', 4),
  policy: field.shape('Whether the last edit of the policy is in force.', {
    state: field.word(
      ['in_force', 'edit_refused'],
      '`edit_refused`: the files have mistakes, and the previous policy stays in force.',
    ),
    message: field.text(
      'The result of the last reload. `GET /admin/policy` has the details.',
      'The policy is in force.',
    ),
  }),
});
