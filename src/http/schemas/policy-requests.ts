import { Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';

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

const FileText = field.body('A file of a policy.', { name: NAME, text: TEXT });
const FileChange = field.body('A file with its new text, or a file to remove.', {
  name: NAME,
  text: field.orNull(TEXT, 'Its whole new text; null removes the file.', 'version: 2\n'),
});

const CHANGES = Type.Array(FileChange, {
  minItems: 1,
  maxItems: FILES_MAX,
  description: 'Files that differ from those on disk. All others stay as they are.',
});

/** A policy in a body. */
const BUNDLE = {
  files: Type.Optional(
    Type.Array(FileText, { minItems: 1, maxItems: FILES_MAX, description: 'All files of the policy.' }),
  ),
  changes: Type.Optional(CHANGES),
};

const SIDE = {
  ...BUNDLE,
  revision: Type.Optional(field.text('A stored revision, or at least 6 of its first digits.', '95f1a7d5f908027b')),
};

export const PolicyCheckRequest = field.body('The policy to check: the files on disk unless stated.', BUNDLE);

export const PolicyPushRequest = field.body('The revision to push: all its files, or an earlier push.', {
  files: BUNDLE.files,
  revision: Type.Optional(
    field.text(
      'An earlier push that was in force: its number, or at least 6 of the first digits of its revision.',
      '3',
    ),
  ),
});

/** Letters of a part of a case's name. */
const CASE_LENGTH_MAX = 200;

export const PolicyTestRequest = field.body('The policy whose cases run: the files on disk unless stated.', {
  ...BUNDLE,
  case: Type.Optional(
    Type.String({
      maxLength: CASE_LENGTH_MAX,
      description: 'Runs only the cases with this text in their names.',
      examples: ['night'],
    }),
  ),
  here: Type.Optional(
    field.flag('Whether to run them only with the variables that are set here, and not also with all set.', false),
  ),
});

export const PolicyDiffRequest = field.body('Two policies.', {
  a: Type.Optional(field.body('The earlier one: that in force unless stated.', SIDE)),
  b: Type.Optional(field.body('The later one: the files on disk unless stated.', SIDE)),
});

export const PolicyExplainRequest = field.body('A request that is decided and never sent.', {
  request: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'A body of `/v1/chat/completions`, `/v1/messages`, `/v1/responses` or `/v1/route`.',
      examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] }],
    },
  ),
  key: Type.Optional(field.text('The ID of the key that it comes from.', 'k7mw2pq9x4ta')),
  team: Type.Optional(field.text('The ID or the name of the team that it comes from, without a key.', 'search')),
  user: Type.Optional(field.text('The ID of the user that it comes from, without a key.', 'user_0mtqg5k3w4x1b7q2z')),
  time: Type.Optional(field.moment('When it comes; now unless stated. Readings and money are those of now.')),
  policy: Type.Optional(field.body('The policy that decides: that in force unless stated.', SIDE)),
});

export const PolicyEditRequest = field.body('An edit of the policy’s files.', { changes: CHANGES });
