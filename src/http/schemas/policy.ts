import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../../surface/schemas/diagnostic.ts';
import { moment, named, orNull, policyRevision, word } from '../../surface/schemas/parts.ts';

export const PolicyChange = named('PolicyChange', 'One change of the policy.', {
  change: word(['added', 'removed', 'changed'], 'The kind of change.', 'changed'),
  section: Type.String({ description: 'The section of the policy.', examples: ['models'] }),
  name: orNull(
    Type.String({ examples: ['gpt-6-astra'] }),
    'The name of the changed item; null for a section without named items.',
  ),
  keys: Type.Optional(
    Type.Array(
      Type.Object({
        key: Type.String({ description: 'Path of the key.', examples: ['price.input'] }),
        from: Type.Optional(Type.Unknown({ description: 'The old value; absent if the key is new.' })),
        to: Type.Optional(Type.Unknown({ description: 'The new value; absent if the key was removed.' })),
      }),
      {
        description: 'The keys that changed, with their old and new values.',
        examples: [[{ key: 'price.input', from: 0.2, to: 0.25 }]],
      },
    ),
  ),
});

export const PolicyReload = named('PolicyReload', 'One reload of the policy files, and its result.', {
  time: moment('When it ended.'),
  took_ms: Type.Integer({ minimum: 0, description: 'How long it took, in ms.', examples: [41] }),
  cause: word(
    ['start', 'edit', 'signal', 'request'],
    'The cause: the start, a change of the folder, SIGHUP, or a request to reload.',
  ),
  result: word(['applied', 'unchanged', 'refused'], 'With `refused`, the previous policy stays in force.'),
  revision: policyRevision,
  message: Type.String({ description: 'One sentence.', examples: ['The policy is in force.'] }),
  diagnostics: Type.Array(PolicyDiagnostic, { description: 'Every mistake, sorted by place.', examples: [[]] }),
  changes: Type.Array(PolicyChange, { description: 'From the revision before; empty unless applied.' }),
});

export const PolicyStatus = named('PolicyStatus', 'The policy in force, and the last reload of its files.', {
  revision: policyRevision,
  since: moment('When it came into force.'),
  files: Type.Array(Type.String(), {
    description: 'The files of the policy.',
    examples: [['policies/models.yaml', 'policies/signalbox.yaml']],
  }),
  models: Type.Integer({ minimum: 0, description: 'The number of models that can be served.', examples: [4] }),
  warnings: Type.Array(PolicyDiagnostic, { description: 'Warnings about the policy.', examples: [[]] }),
  outdated_plugins: Type.Array(Type.String(), {
    description: 'Plugins whose code has changed on disk: it takes effect at a restart.',
    examples: [[]],
  }),
  last_reload: PolicyReload,
  previous: orNull(
    Type.Object({
      revision: policyRevision,
      changes: Type.Array(PolicyChange, { description: 'The changes since the previous revision.' }),
    }),
    'The revision before this one; null if there was none since the start.',
  ),
});
