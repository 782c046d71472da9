import { Type } from '@sinclair/typebox';
import { REDACTIONS } from '../core/content.ts';
import { closed, expression, integer, oneOf, string } from './schema-parts.ts';

const REDACTED = {
  email: 'Addresses of e-mail.',
  phone: 'Telephone numbers.',
  card: 'Numbers of payment cards.',
  iban: 'Numbers of bank accounts.',
  ip: 'Addresses of machines.',
  secret: 'Keys, tokens and passwords.',
};

const ContentText = closed(
  {
    match: Type.Optional(
      expression(
        'The requests whose words are kept: CEL over `key` and `request.model`. Without it, all. A condition that fails keeps nothing.',
        'key.labels.debug == "yes"',
      ),
    ),
    keep: Type.Array(
      oneOf(['prompt', 'answer'], {
        description: '`prompt`: the messages; `answer`: what the model wrote.',
        means: { prompt: 'The messages.', answer: 'What the model wrote.' },
      }),
      {
        minItems: 1,
        uniqueItems: true,
        default: ['prompt', 'answer'],
        examples: [['prompt']],
        description: 'What is kept of them, at most 262,144 characters of each.',
      },
    ),
    redact: Type.Array(oneOf(REDACTIONS, { description: 'A kind of thing that is taken out.', means: REDACTED }), {
      uniqueItems: true,
      default: [...REDACTIONS],
      examples: [['email', 'secret']],
      description: 'What is taken out before anything is written. All kinds, unless fewer are named.',
    }),
    retention_days: integer({ minimum: 1, maximum: 365, default: 7 }, 'Days that they are kept.'),
  },
  { description: 'Keeps the words of prompts and answers. Without it they are stored nowhere.' },
);

export const RecordsText = closed(
  {
    retention_days: integer({ minimum: 1, maximum: 3650, default: 30 }, 'Days that decision records are kept.'),
    metadata: Type.Array(string({ minLength: 1, maxLength: 64 }, 'A key of `metadata`.'), {
      uniqueItems: true,
      maxItems: 64,
      default: [],
      examples: [['team']],
      description:
        'Keys of a request’s `metadata` that its record keeps, redacted, so that the conditions of another policy can be judged on it later.',
    }),
    content: Type.Optional(ContentText),
  },
  { description: 'What is kept of requests.' },
);
