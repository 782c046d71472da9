import { Type } from '@sinclair/typebox';
import { REDACTIONS, type Redaction } from '../core/content.ts';
import { closed, integer, oneOfExplained, optional, string } from './schema-parts.ts';

const REDACTED: Readonly<Record<Redaction, string>> = {
  email: 'Addresses of e-mail.',
  phone: 'Telephone numbers.',
  card: 'Numbers of payment cards.',
  iban: 'Numbers of bank accounts.',
  ip: 'Addresses of machines.',
  secret: 'Keys, tokens and passwords.',
};

const ContentText = closed('Stores texts of prompts and answers. Default: none.', {
  match: optional.expression(
    'Requests whose words are kept: CEL over `key`, `team`, `user.id` and `request.model`. Default: all. A failing condition keeps nothing.',
    'key.labels.debug == "yes"',
  ),
  keep: Type.Array(
    oneOfExplained({
      means: { prompt: 'The messages.', answer: 'What the model wrote.' },
      description: '`prompt`: the messages; `answer`: the text of the model.',
    }),
    {
      minItems: 1,
      uniqueItems: true,
      default: ['prompt', 'answer'],
      examples: [['prompt']],
      description: 'Parts to store, at most 262,144 characters of each.',
    },
  ),
  redact: Type.Array(oneOfExplained({ means: REDACTED, description: 'A kind of data to remove.' }), {
    uniqueItems: true,
    default: [...REDACTIONS],
    examples: [['email', 'secret']],
    description: 'Kinds of data removed before storage.',
  }),
  readable_by: oneOfExplained({
    means: {
      operators: 'Owners and administrators.',
      own: 'Also team leads and members, each those of requests with keys of their own.',
    },
    default: 'operators',
    examples: ['own'],
    description: 'Who may read them.',
  }),
  retention_days: integer({ minimum: 1, maximum: 365, default: 7 }, 'Days that they are kept.'),
});

export const RecordsText = closed('Records of requests.', {
  retention_days: integer({ minimum: 1, maximum: 3650, default: 30 }, 'Days that decision records are kept.'),
  trail_retention_days: optional.integer(
    { minimum: 30, maximum: 36_500, examples: [400] },
    'Days that entries of the trail are kept. Default: forever.',
  ),
  metadata: Type.Array(string({ minLength: 1, maxLength: 64 }, 'A key of `metadata`.'), {
    uniqueItems: true,
    maxItems: 64,
    default: [],
    examples: [['team']],
    description: 'Keys of `metadata` that records keep, redacted, so that another policy can be judged on them later.',
  }),
  reported_runs: optional.expression(
    'Keys whose sessions and agents are named to keys with the scope `report`: CEL over `key`; `"true"` for all. Default: none. A failing condition shows nothing.',
    'key.labels.application == "search"',
  ),
  content: Type.Optional(ContentText),
});
