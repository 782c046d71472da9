import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import { policyRevision } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import type { KeyChange } from '../policy/runtime/diff.ts';

/** This file has the shapes that several operations on policies share. */

/** The models that a selector states by tier, where a decision or a check reports them. */
export const statedTiers = f.orNull(
  f.row({
    usual: f.textList('For usual requests.', ['gpt-6-luna']),
    strong: f.textList('For hard requests.', ['gpt-6.1-sol']),
  }),
  'The models that the policy states, in the order in which they are tried; null if it states none.',
  null,
);

/** The most files of a policy, and the most characters of a file. */
const FILES_MAX = 256;
const CHARACTERS_MAX = 1_048_576;

const NAME = Type.String({
  minLength: 5,
  maxLength: 200,
  description: 'The name of the file in the policy’s folder, without a path. The name must end with `.yaml` or `.yml`.',
  examples: ['models.yaml'],
});
const TEXT = Type.String({
  maxLength: CHARACTERS_MAX,
  description: 'The whole text of the file.',
  examples: ['version: 1\n'],
});

export const CHANGES = Type.Array(
  f.closed('A file with its new text, or a file to remove.', {
    name: NAME,
    text: f.orNull(TEXT, 'The whole new text of the file; null removes the file.', 'version: 1\n'),
  }),
  {
    minItems: 1,
    maxItems: FILES_MAX,
    description: 'Files that differ from the files on disk. All other files stay unchanged.',
  },
);
export const FILES = Type.Array(f.closed('A file of a policy.', { name: NAME, text: TEXT }), {
  minItems: 1,
  maxItems: FILES_MAX,
  description: 'All files of the policy.',
});

/** A policy in the body of a request. */
export const BUNDLE = { files: Type.Optional(FILES), changes: Type.Optional(CHANGES) };

/** A policy in the body of a request, or a stored revision. */
export const SIDE = {
  ...BUNDLE,
  revision: Type.Optional(f.text('A stored revision, or at least the first 6 of its digits.', '95f1a7d5f908027b')),
};

export const fileName = f.text('The name of the file in the policy’s folder.', 'models.yaml');

export const guarded = f.list(
  Type.Object({
    section: f.text('The section.', 'providers'),
    name: f.textOrNull('The name of the item; null for a section without named items.', 'openai'),
    key: f.textOrNull('The key; null for the whole item or section.', 'base_url'),
    why: f.text('Why the difference is guarded.', 'it decides where requests and keys are sent'),
    by: f.word(
      ['owner', 'files'],
      'Who may make the change. `owner`: an owner over HTTP, if the server was started with `--allow-policy-writes`. `files`: only a person who can edit the policy files.',
      'owner',
    ),
  }),
  'Differences from the files on disk that not every operator may write.',
  [],
);

export const PolicyChange = f.named('PolicyChange', 'One change of the policy.', {
  change: f.word(['added', 'removed', 'changed'], 'The kind of change.', 'changed'),
  section: f.text('The section of the policy that changed.', 'models'),
  name: f.textOrNull('The name of the changed item; null for a section without named items.', 'gpt-6-astra'),
  keys: Type.Optional(
    Type.Unsafe<readonly KeyChange[]>(
      f.rows(
        'The keys that changed, with their old and new values.',
        {
          key: f.text('The path of the key.', 'price.input'),
          from: Type.Optional(Type.Unknown({ description: 'The old value; absent if the key is new.' })),
          to: Type.Optional(Type.Unknown({ description: 'The new value; absent if the key was removed.' })),
        },
        [{ key: 'price.input', from: 0.2, to: 0.25 }],
      ),
    ),
  ),
});

export const PolicyReload = f.named('PolicyReload', 'One reload of the policy files, and its result.', {
  time: f.moment('When the reload ended.'),
  took_ms: f.count('How long the reload took, in ms.', 41),
  cause: f.word(
    ['start', 'edit', 'push', 'signal', 'request'],
    'What caused the reload: the start, a change in the folder or in a secret’s file, SIGHUP, or a request to reload.',
  ),
  result: f.word(['applied', 'unchanged', 'refused'], 'The result. With `refused`, the previous policy stays active.'),
  revision: policyRevision,
  message: f.text('One sentence.', 'The policy is active.'),
  diagnostics: f.list(f.onWire(PolicyDiagnostic), 'Every mistake, sorted by location.', []),
  changes: f.list(f.onWire(PolicyChange), 'Changes from the previous revision; empty unless the reload was applied.'),
});
