import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import * as parts from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { fileName, guarded, PolicyChange, PolicyReload } from './policy-shapes.ts';

/** The answers of operations on a server’s policy. */

export const PolicyStatus = f.named('PolicyStatus', 'The active policy, and the last reload of its files.', {
  revision: parts.policyRevision,
  since: f.moment('When it became active.'),
  files: f.list(Type.String(), 'The files of the policy.', {
    examples: [['policies/models.yaml', 'policies/signalbox.yaml']],
  }),
  models: f.count('The number of models that can be served.', 4),
  warnings: f.list(PolicyDiagnostic, 'Warnings about the policy.', { examples: [[]] }),
  outdated_plugins: f.list(
    Type.String(),
    'Plugins whose code has changed on disk. The change takes effect after a restart.',
    { examples: [[]] },
  ),
  secrets: f.list(
    f.shape('A secret.', {
      variable: f.text('The variable that the file stands for.', 'OPENAI_API_KEY'),
      read: f.as('readAt', f.orNull(f.moment('When its value was last read; null if it never was.'))),
      problem: parts.textOrNull(
        'Why the file cannot be used now, while the last value stays in use; null if it can.',
        'it is empty',
      ),
    }),
    'The secrets that are read from files, by `NAME_FILE`; never their values.',
    { examples: [[{ variable: 'OPENAI_API_KEY', read: '2026-11-20T09:30:00.000Z', problem: null }]] },
  ),
  last_reload: f.as('last', PolicyReload),
  previous: f.orNull(
    f.shape('A revision.', {
      revision: parts.policyRevision,
      changes: f.list(PolicyChange, 'The changes since the previous revision.'),
    }),
    'The revision before this one; null if there was none since the start.',
  ),
});

const file = f.shape('A file.', {
  name: fileName,
  text: f.text('Its text. Texts that look like secrets are replaced by `[secret]`.', 'version: 2\n'),
  is_masked: f.flag('Whether a text that looks like a secret was replaced. Such a file cannot be written here.', false),
});

export const PolicyFiles = f.named('PolicyFiles', 'The files of the active policy.', {
  object: f.always('policy.files'),
  revision: parts.policyRevision,
  files: f.list(file, 'By name.'),
  on_disk: f.word(
    ['same', 'differs', 'unreadable'],
    '`differs`: the files on disk are not the active ones, as after an edit that was refused.',
  ),
  disk_files: f.orNull(
    f.list(file, 'By name.'),
    'The files on disk, where they are not the active ones; null where they are the same or unreadable.',
  ),
  writes: f.shape('What the caller may write.', {
    ordinary: f.flag('Whether ordinary edits are accepted.', true),
    guarded: f.flag('Whether guarded edits are accepted, too.', false),
    refused: parts.textOrNull('Why ordinary edits are not accepted.', null),
  }),
});

export const PolicyWrite = f.named('PolicyWrite', 'An edit that is active.', {
  object: f.always('policy.write'),
  revision: parts.policyRevision,
  previous: f.text('The revision before it.', '95f1a7d5f908027b'),
  files: f.list(
    Type.Object({ name: fileName, change: f.word(['added', 'removed', 'changed'], 'How.', 'changed') }),
    'The files that changed.',
  ),
  guarded,
  reload: PolicyReload,
  lagging: f.list(Type.String(), 'Of pushes: the servers where it was not active after ten seconds.', {
    examples: [[]],
  }),
});

const author = f.inCommand(
  parts.shape('Who activated it.', {
    kind: f.text('As in the trail.', 'user'),
    name: parts.textOrNull('As in the trail.', 'user_0mtqg5k3w4x1b7q2z'),
  }),
  { text: ({ kind, name }: Readonly<Record<'kind' | 'name', string | null>>) => name ?? `${kind}` },
);

export const PolicyPushes = f.page(
  'PolicyPushes',
  'Revisions that were pushed.',
  f.shape('A push.', {
    id: f.count('Its number, which grows with each push.', 3),
    revision: parts.policyRevision,
    base: parts.wholeOrNull('The number of the revision that it replaced; null for none.', 2),
    time: f.moment('When it was pushed.'),
    author: f.orNull(author, 'Who pushed it, as the trail has it; null where the trail no longer has it.', {
      kind: 'cli',
      name: 'root',
    }),
    state: f.word(
      ['offered', 'accepted', 'refused'],
      '`offered` until every server has judged it; `refused` is active nowhere.',
      'accepted',
    ),
    reason: parts.textOrNull('Why it is refused.', 'The server gateway-7d9f:1 refuses it: …'),
    is_in_force: f.inCommand(f.flag('Whether it is active at the servers that follow pushes.', true), {
      text: (isInForce: boolean) => (isInForce ? 'in force' : '-'),
    }),
  }),
  'The newest first.',
);

export const PolicyRevisions = f.page(
  'PolicyRevisions',
  'The policies that were active.',
  f.shape('A period.', {
    id: f.count('The entry of the trail, for `after`.', 12),
    revision: parts.policyRevision,
    from: f.moment('When it became active.'),
    until: f.orNull(f.moment('When the next one did; null for the active one.')),
    cause: parts.textOrNull('What activated it: `start`, `edit`, `push`, `signal` or `request`.', 'request'),
    actor: author,
    is_stored: f.flag('Whether its text is still kept.', true),
  }),
  'Newest first.',
);

export const PolicyRevision = f.named('PolicyRevision', 'A stored policy.', {
  object: f.always('policy.revision'),
  revision: parts.policyRevision,
  is_in_force: f.flag('Whether it is active.', false),
  saved: f.moment('When it last became active.'),
  models: f.list(Type.String(), 'The models that it served.', { examples: [['gpt-6-luna']] }),
  files: f.list(f.shape('A file.', { name: fileName, text: f.text('Its text.', 'version: 2\n') }), 'By name.'),
});

/** The JSON Schema of a policy. */
export const PolicyJsonSchema = Type.Object({}, { additionalProperties: true, description: 'A JSON Schema, draft 7.' });
