import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import * as parts from '../core/api/parts.ts';
import type { KeyChange } from '../policy/runtime/diff.ts';
import * as f from './kit/fields.ts';

/** The shapes that several operations on policies share. */

/** Most files of a policy, and most characters of one of them. */
const FILES_MAX = 256;
const CHARACTERS_MAX = 1_048_576;

const NAME = Type.String({
  minLength: 5,
  maxLength: 200,
  description: 'Its name in the policy’s folder: no path, and `.yaml` or `.yml` at its end.',
  examples: ['models.yaml'],
});
const TEXT = Type.String({ maxLength: CHARACTERS_MAX, description: 'Its whole text.', examples: ['version: 2\n'] });

export const CHANGES = Type.Array(
  parts.body('A file with its new text, or a file to remove.', {
    name: NAME,
    text: parts.orNull(TEXT, 'Its whole new text; null removes the file.', 'version: 2\n'),
  }),
  {
    minItems: 1,
    maxItems: FILES_MAX,
    description: 'Files that differ from those on disk. All others stay as they are.',
  },
);
export const FILES = Type.Array(parts.body('A file of a policy.', { name: NAME, text: TEXT }), {
  minItems: 1,
  maxItems: FILES_MAX,
  description: 'All files of the policy.',
});

/** A policy in a body. */
export const BUNDLE = { files: Type.Optional(FILES), changes: Type.Optional(CHANGES) };

/** A policy in a body, or a stored revision. */
export const SIDE = {
  ...BUNDLE,
  revision: Type.Optional(parts.text('A stored revision, or at least 6 of its first digits.', '95f1a7d5f908027b')),
};

export const fileName = parts.text('Its name in the policy’s folder.', 'models.yaml');

export const guarded = f.list(
  Type.Object({
    section: parts.text('The section.', 'providers'),
    name: parts.textOrNull('The name of the item; null for a section without named items.', 'openai'),
    key: parts.textOrNull('The key; null for the whole item or section.', 'base_url'),
    why: parts.text('Why it is guarded.', 'it decides where requests and keys are sent'),
  }),
  'Differences from the files on disk that only an owner may write, on a server that was started with `--allow-policy-writes`.',
  { examples: [[]] },
);

export const PolicyChange = parts.named('PolicyChange', 'One change of the policy.', {
  change: parts.word(['added', 'removed', 'changed'], 'The kind of change.', 'changed'),
  section: parts.text('The section of the policy.', 'models'),
  name: parts.textOrNull('The name of the changed item; null for a section without named items.', 'gpt-6-astra'),
  keys: Type.Optional(
    Type.Unsafe<readonly KeyChange[]>(
      parts.rows(
        'The keys that changed, with their old and new values.',
        {
          key: parts.text('Path of the key.', 'price.input'),
          from: Type.Optional(Type.Unknown({ description: 'The old value; absent if the key is new.' })),
          to: Type.Optional(Type.Unknown({ description: 'The new value; absent if the key was removed.' })),
        },
        [{ key: 'price.input', from: 0.2, to: 0.25 }],
      ),
    ),
  ),
});

export const PolicyReload = f.named('PolicyReload', 'One reload of the policy files, and its result.', {
  time: f.moment('When it ended.'),
  took_ms: f.count('How long it took, in ms.', 41),
  cause: f.word(
    ['start', 'edit', 'push', 'signal', 'request'],
    'The cause: the start, a change of the folder or of a secret’s file, SIGHUP, or a request to reload.',
  ),
  result: f.word(['applied', 'unchanged', 'refused'], 'With `refused`, the previous policy stays active.'),
  revision: parts.policyRevision,
  message: f.text('One sentence.', 'The policy is active.'),
  diagnostics: f.list(PolicyDiagnostic, 'Every mistake, sorted by place.', { examples: [[]] }),
  changes: f.list(PolicyChange, 'From the revision before; empty unless applied.'),
});
