import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import { policyRevision } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import { fileName, guarded, PolicyChange, PolicyReload } from './policy-shapes.ts';

/** This file has the answers of operations on a server’s policy. */

export const PolicyStatus = f.named('PolicyStatus', 'The active policy, and the last reload of its files.', {
  revision: policyRevision,
  since: f.moment('When the policy became active.'),
  files: f.list(Type.String(), 'The files of the policy.', {
    examples: [['policies/models.yaml', 'policies/signalbox.yaml']],
  }),
  models: f.count('The number of models that can be served.', 4),
  warnings: f.list(f.onWire(PolicyDiagnostic), 'Warnings about the policy.', []),
  outdated_plugins: f.list(
    Type.String(),
    'Plugins whose code has changed on disk. The new code is used after a restart.',
    [],
  ),
  secrets: f.list(
    f.shape('A secret.', {
      variable: f.text('The variable that policies name.', 'OPENAI_API_KEY'),
      source: f.text(
        'Where the value comes from: `file` for a file that `NAME_FILE` names, or the kind of the token source.',
        'file',
      ),
      read: f.as('readAt', f.orNull(f.moment('When the value was last read or fetched; null if it never was.'))),
      is_set: f.flag('Whether there is a value that can be used now.', true),
      expires: f.as(
        'expiresAt',
        f.orNull(f.moment('When the token ends; null for a file, and if the end is not known.')),
      ),
      problem: f.textOrNull(
        'Why the file cannot be used now, or why the last fetch failed. The server continues to use the last value, a token until its end. Null for no problem.',
        'it is empty',
      ),
    }),
    'The secrets that the server reads from files, and the tokens that it fetches from token sources. The values are never shown.',
    [
      {
        variable: 'OPENAI_API_KEY',
        source: 'file',
        read: '2026-11-20T09:30:00.000Z',
        is_set: true,
        expires: null,
        problem: null,
      },
    ],
  ),
  last_reload: f.as('last', PolicyReload),
  previous: f.orNull(
    f.shape('A revision.', {
      revision: policyRevision,
      changes: f.list(f.onWire(PolicyChange), 'The changes since the previous revision.'),
    }),
    'The previous revision; null if the server has had only one revision since its start.',
  ),
});

const file = f.shape('A file.', {
  name: fileName,
  text: f.text('The text of the file. Texts that look like secrets are replaced by `[secret]`.', 'version: 1\n'),
  is_masked: f.flag(
    'Whether a text that looks like a secret was replaced. A file with a replaced text cannot be edited through this API.',
    false,
  ),
});

export const PolicyFiles = f.named('PolicyFiles', 'The files of the active policy.', {
  object: f.always('policy.files'),
  revision: policyRevision,
  files: f.list(file, 'The files, by name.'),
  on_disk: f.word(
    ['same', 'differs', 'unreadable'],
    '`differs`: the files on disk differ from the active files, for example after an edit that was refused.',
  ),
  disk_files: f.orNull(
    f.list(file, 'The files, by name.'),
    'The files on disk, if they differ from the active files; null if they are the same or cannot be read.',
  ),
  writes: f.shape('What the caller may write.', {
    ordinary: f.flag('Whether ordinary edits are accepted.', true),
    guarded: f.flag('Whether guarded edits are accepted, too.', false),
    refused: f.textOrNull('Why the server does not accept ordinary edits; null if it accepts them.', null),
  }),
});

export const PolicyWrite = f.named('PolicyWrite', 'An edit that was activated.', {
  object: f.always('policy.write'),
  revision: policyRevision,
  previous: f.text('The revision that the edit replaced.', '95f1a7d5f908027b'),
  files: f.list(
    Type.Object({ name: fileName, change: f.word(['added', 'removed', 'changed'], 'How.', 'changed') }),
    'The files that changed.',
  ),
  guarded,
  reload: PolicyReload,
  lagging: f.list(Type.String(), 'For pushes: the servers on which the revision was not active after ten seconds.', {
    examples: [[]],
  }),
});

const author = f.inCommand(
  f.shape('Who activated the policy.', {
    kind: f.text('The kind of actor, as in the audit trail.', 'user'),
    name: f.textOrNull('The name of the actor, as in the audit trail.', 'user_0mtqg5k3w4x1b7q2z'),
  }),
  { text: ({ kind, name }: Readonly<Record<'kind' | 'name', string | null>>) => name ?? `${kind}` },
);

export const PolicyPushes = f.page(
  'PolicyPushes',
  'Pushed revisions.',
  f.shape('A push.', {
    id: f.count('The number of the push. Each push has a greater number than the one before.', 3),
    revision: policyRevision,
    base: f.wholeOrNull('The number of the push that this push replaced; null for none.', 2),
    time: f.moment('When the revision was pushed.'),
    author: f.orNull(author, 'Who pushed the revision; null if the audit trail no longer has the entry.', {
      kind: 'cli',
      name: 'root',
    }),
    state: f.word(
      ['offered', 'accepted', 'refused'],
      '`offered`: not every server has checked the revision yet. `refused`: the revision is active on no server.',
      'accepted',
    ),
    reason: f.textOrNull(
      'Why a server refused the revision; null if none did.',
      'The server gateway-7d9f:1 refuses it: …',
    ),
    is_in_force: f.inCommand(f.flag('Whether the revision is active on the servers that follow pushes.', true), {
      text: (isInForce: boolean) => (isInForce ? 'in force' : '-'),
    }),
  }),
  'The newest first.',
);

export const PolicyRevisions = f.page(
  'PolicyRevisions',
  'The policies that were active.',
  f.shape('A period.', {
    id: f.count('The number of the entry in the audit trail, for use as `after`.', 12),
    revision: policyRevision,
    from: f.moment('When the policy became active.'),
    until: f.orNull(f.moment('When the next policy became active; null for the active policy.')),
    cause: f.textOrNull('What activated the policy: `start`, `edit`, `push`, `signal` or `request`.', 'request'),
    actor: author,
    is_stored: f.flag('Whether the text of the policy is still stored.', true),
  }),
  'The policies, newest first.',
);

export const PolicyRevision = f.named('PolicyRevision', 'A stored policy.', {
  object: f.always('policy.revision'),
  revision: policyRevision,
  is_in_force: f.flag('Whether the policy is active.', false),
  saved: f.moment('When the policy last became active.'),
  models: f.list(Type.String(), 'The models that the policy could serve.', ['gpt-6-luna']),
  files: f.list(
    f.shape('A file.', { name: fileName, text: f.text('The text of the file.', 'version: 1\n') }),
    'The files, by name.',
  ),
});

/** The JSON Schema of a policy. */
export const PolicyJsonSchema = Type.Object({}, { additionalProperties: true, description: 'A JSON Schema, draft 7.' });
