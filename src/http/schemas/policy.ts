import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../../surface/schemas/diagnostic.ts';
import { moment, named, orNull, policyRevision, word } from '../../surface/schemas/parts.ts';

export const PolicyChange = named('PolicyChange', 'One thing of the policy that an edit changed.', {
  change: word(['added', 'removed', 'changed'], 'What became of it.', 'changed'),
  section: Type.String({ description: 'The section of the policy.', examples: ['models'] }),
  name: orNull(Type.String({ examples: ['gpt-6-astra'] }), 'Its name; null for a section that is one thing.'),
  keys: Type.Optional(
    Type.Array(
      Type.Object({
        key: Type.String({ description: 'Path of the key.', examples: ['price.input'] }),
        from: Type.Optional(Type.Unknown({ description: 'What it held; absent if it was not there.' })),
        to: Type.Optional(Type.Unknown({ description: 'What it holds; absent if it is gone.' })),
      }),
      {
        description: 'The keys that changed, with their old and new values.',
        examples: [[{ key: 'price.input', from: 0.2, to: 0.25 }]],
      },
    ),
  ),
});

export const PolicyReload = named('PolicyReload', 'One look at the policy’s files, and what came of it.', {
  time: moment('When it ended.'),
  took_ms: Type.Integer({ minimum: 0, description: 'How long it took, in ms.', examples: [41] }),
  cause: word(
    ['start', 'edit', 'signal', 'request'],
    'Who asked: the start, a change of the folder, SIGHUP, or the reload route.',
  ),
  result: word(['applied', 'unchanged', 'refused'], '`refused` leaves the former policy in force.'),
  revision: policyRevision,
  message: Type.String({ description: 'One sentence.', examples: ['The policy is in force.'] }),
  diagnostics: Type.Array(PolicyDiagnostic, { description: 'All that is wrong, sorted by place.', examples: [[]] }),
  changes: Type.Array(PolicyChange, { description: 'From the revision before; empty unless applied.' }),
});

export const PolicyStatus = named('PolicyStatus', 'The policy in force, and the last look at its files.', {
  revision: policyRevision,
  since: moment('Since when it is in force.'),
  files: Type.Array(Type.String(), {
    description: 'The files that it was read from.',
    examples: [['policies/models.yaml', 'policies/signalbox.yaml']],
  }),
  models: Type.Integer({ minimum: 0, description: 'How many models can be served.', examples: [4] }),
  warnings: Type.Array(PolicyDiagnostic, { description: 'What it might be better without.', examples: [[]] }),
  outdated_plugins: Type.Array(Type.String(), {
    description: 'Plugins whose code has changed on disk: it takes effect at a restart.',
    examples: [[]],
  }),
  last_reload: PolicyReload,
  previous: orNull(
    Type.Object({
      revision: policyRevision,
      changes: Type.Array(PolicyChange, { description: 'What made the one in force of it.' }),
    }),
    'The revision before this one; null if there was none since the start.',
  ),
});
