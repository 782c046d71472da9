import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../../api/diagnostic.ts';
import { arrayOf, count, moment, named, orNull, policyRevision, text, word } from '../../api/parts.ts';
import { rows, shapeOrNull } from './shapes.ts';

export const PolicyChange = named('PolicyChange', 'One change of the policy.', {
  change: word(['added', 'removed', 'changed'], 'The kind of change.', 'changed'),
  section: text('The section of the policy.', 'models'),
  name: orNull(
    Type.String({ examples: ['gpt-6-astra'] }),
    'The name of the changed item; null for a section without named items.',
  ),
  keys: Type.Optional(
    rows(
      'The keys that changed, with their old and new values.',
      {
        key: text('Path of the key.', 'price.input'),
        from: Type.Optional(Type.Unknown({ description: 'The old value; absent if the key is new.' })),
        to: Type.Optional(Type.Unknown({ description: 'The new value; absent if the key was removed.' })),
      },
      [{ key: 'price.input', from: 0.2, to: 0.25 }],
    ),
  ),
});

export const PolicyReload = named('PolicyReload', 'One reload of the policy files, and its result.', {
  time: moment('When it ended.'),
  took_ms: count('How long it took, in ms.', 41),
  cause: word(
    ['start', 'edit', 'signal', 'request'],
    'The cause: the start, a change of the folder, SIGHUP, or a request to reload.',
  ),
  result: word(['applied', 'unchanged', 'refused'], 'With `refused`, the previous policy stays in force.'),
  revision: policyRevision,
  message: text('One sentence.', 'The policy is in force.'),
  diagnostics: arrayOf(PolicyDiagnostic, 'Every mistake, sorted by place.', []),
  changes: arrayOf(PolicyChange, 'From the revision before; empty unless applied.'),
});

export const PolicyStatus = named('PolicyStatus', 'The policy in force, and the last reload of its files.', {
  revision: policyRevision,
  since: moment('When it came into force.'),
  files: arrayOf(Type.String(), 'The files of the policy.', ['policies/models.yaml', 'policies/signalbox.yaml']),
  models: count('The number of models that can be served.', 4),
  warnings: arrayOf(PolicyDiagnostic, 'Warnings about the policy.', []),
  outdated_plugins: arrayOf(Type.String(), 'Plugins whose code has changed on disk: it takes effect at a restart.', []),
  last_reload: PolicyReload,
  previous: shapeOrNull('The revision before this one; null if there was none since the start.', {
    revision: policyRevision,
    changes: arrayOf(PolicyChange, 'The changes since the previous revision.'),
  }),
});
