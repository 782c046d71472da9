import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../../api/diagnostic.ts';
import * as field from '../../api/parts.ts';

export const PolicyChange = field.named('PolicyChange', 'One change of the policy.', {
  change: field.word(['added', 'removed', 'changed'], 'The kind of change.', 'changed'),
  section: field.text('The section of the policy.', 'models'),
  name: field.textOrNull('The name of the changed item; null for a section without named items.', 'gpt-6-astra'),
  keys: Type.Optional(
    field.rows(
      'The keys that changed, with their old and new values.',
      {
        key: field.text('Path of the key.', 'price.input'),
        from: Type.Optional(Type.Unknown({ description: 'The old value; absent if the key is new.' })),
        to: Type.Optional(Type.Unknown({ description: 'The new value; absent if the key was removed.' })),
      },
      [{ key: 'price.input', from: 0.2, to: 0.25 }],
    ),
  ),
});

export const PolicyReload = field.named('PolicyReload', 'One reload of the policy files, and its result.', {
  time: field.moment('When it ended.'),
  took_ms: field.count('How long it took, in ms.', 41),
  cause: field.word(
    ['start', 'edit', 'push', 'signal', 'request'],
    'The cause: the start, a change of the folder or of a secret’s file, SIGHUP, or a request to reload.',
  ),
  result: field.word(['applied', 'unchanged', 'refused'], 'With `refused`, the previous policy stays in force.'),
  revision: field.policyRevision,
  message: field.text('One sentence.', 'The policy is in force.'),
  diagnostics: field.arrayOf(PolicyDiagnostic, 'Every mistake, sorted by place.', []),
  changes: field.arrayOf(PolicyChange, 'From the revision before; empty unless applied.'),
});

export const PolicyStatus = field.named('PolicyStatus', 'The policy in force, and the last reload of its files.', {
  revision: field.policyRevision,
  since: field.moment('When it came into force.'),
  files: field.textList('The files of the policy.', ['policies/models.yaml', 'policies/signalbox.yaml']),
  models: field.count('The number of models that can be served.', 4),
  warnings: field.arrayOf(PolicyDiagnostic, 'Warnings about the policy.', []),
  outdated_plugins: field.textList('Plugins whose code has changed on disk: it takes effect at a restart.', []),
  secrets: field.rows(
    'The secrets that are read from files, by `NAME_FILE`; never their values.',
    {
      variable: field.text('The variable that the file stands for.', 'OPENAI_API_KEY'),
      read: field.momentOrNull('When its value was last read; null if it never was.'),
      problem: field.textOrNull(
        'Why the file cannot be used now, while the last value stays in use; null if it can.',
        'it is empty',
      ),
    },
    [{ variable: 'OPENAI_API_KEY', read: '2026-11-20T09:30:00.000Z', problem: null }],
  ),
  last_reload: PolicyReload,
  previous: field.shapeOrNull('The revision before this one; null if there was none since the start.', {
    revision: field.policyRevision,
    changes: field.arrayOf(PolicyChange, 'The changes since the previous revision.'),
  }),
});
