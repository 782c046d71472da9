import { type Static, Type } from '@sinclair/typebox';
import { closed, optional, text, whole, word } from '../../core/define/fields.ts';
import { expression } from '../../core/define/policy-words.ts';
import { type ContentPolicy, REDACTIONS, type Redaction } from '../../core/policy/content.ts';
import type { RecordsPolicy } from '../../core/policy/snapshot.ts';
import { budgetViewOf, limitViewOf } from '../cel/types.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { sectionSubject } from '../check/section-checks.ts';
import { type DraftContext, defineSection, settingsOf } from '../define/section.ts';

const REDACTED: Readonly<Record<Redaction, string>> = {
  email: 'Addresses of e-mail.',
  phone: 'Telephone numbers.',
  card: 'Numbers of payment cards.',
  iban: 'Numbers of bank accounts.',
  ip: 'Addresses of machines.',
  secret: 'Keys, tokens and passwords.',
};

const ContentText = closed('Stores texts of prompts and answers. Default: Signalbox stores none.', {
  match: optional(
    expression(
      'Condition that selects the requests whose texts are stored: CEL over `key`, `team`, `user.id` and `request.model`. Default: all requests. If the condition fails for a request, nothing is stored.',
      'key.labels.debug == "yes"',
    ),
  ),
  keep: Type.Array(
    word(
      { prompt: 'The messages.', answer: 'The text that the model wrote.' },
      '`prompt`: the messages. `answer`: the text that the model wrote.',
    ),
    {
      minItems: 1,
      uniqueItems: true,
      default: ['prompt', 'answer'],
      examples: [['prompt']],
      description: 'Parts to store, at most 262,144 characters of each.',
    },
  ),
  redact: Type.Array(word(REDACTED, 'A kind of data to remove before the text is stored.'), {
    uniqueItems: true,
    default: [...REDACTIONS],
    examples: [['email', 'secret']],
    description: 'Kinds of data that Signalbox removes before it stores a text.',
  }),
  readable_by: word(
    {
      operators: 'Owners and administrators.',
      own: 'Operators, and also team leads and members, who can read the texts of requests with their own keys.',
    },
    'Who may read the stored texts.',
    { default: 'operators', example: 'own' },
  ),
  retention_days: whole('How many days the texts are stored.', { minimum: 1, maximum: 365, default: 7 }),
});

const RecordsText = closed('The data that Signalbox stores about requests, and for how long.', {
  retention_days: whole('How many days decisions and refused requests are stored.', {
    minimum: 1,
    maximum: 3650,
    default: 30,
  }),
  trail_retention_days: optional(
    whole('How many days entries of the audit trail are stored. Default: forever.', {
      minimum: 30,
      maximum: 36_500,
      examples: [400],
    }),
  ),
  metadata: Type.Array(text('A key of `metadata`.', { minLength: 1, maxLength: 64 }), {
    uniqueItems: true,
    maxItems: 64,
    default: [],
    examples: [['team']],
    description:
      'Keys of `metadata` that decision records store, with personal data removed, so that you can test other policies on past requests.',
  }),
  reported_runs: optional(
    expression(
      'Condition that selects the API keys whose sessions and agents are named in reports for keys with the scope `report`: CEL over `key`; `"true"` for all. Default: none. If the condition fails for a key, nothing is named.',
      'key.labels.application == "search"',
    ),
  ),
  content: Type.Optional(ContentText),
});

/** The section `records`. */
export const RECORDS = defineSection({
  name: 'records',
  text: RecordsText,
  guard: 'it decides which texts of callers are stored, and how long evidence is kept',
  page: ['Run', '../operate/privacy.md'],
  draft: draftRecords,
  *compile({ content, ...records }, { check }): Generator<undefined, RecordsPolicy> {
    yield;
    const match = check.condition(records.contentMatch, 'budget');
    const runs = check.condition(records.reportedRuns, 'limit');
    return {
      ...records.kept,
      content: content && { ...content, match: match && ((scope) => match.run(budgetViewOf(scope))) },
      reportedRuns: runs && ((scope) => runs.run(limitViewOf(scope))),
    };
  },
});

/** Checks the section without its conditions. They are checked separately, so that other mistakes do not hide theirs. */
function draftRecords(context: DraftContext) {
  const subject = sectionSubject('records', context);
  const { retention_days: days, trail_retention_days, metadata, content } = settingsOf(RecordsText, subject, context);
  return {
    kept: { days, trailDays: trail_retention_days ?? null, metadata },
    content: content === undefined ? null : draftContent(content),
    contentMatch: expressionAt(subject, 'content', 'match'),
    reportedRuns: expressionAt(subject, 'reported_runs'),
  };
}

function draftContent({ keep, redact, retention_days: days, readable_by: readers }: Static<typeof ContentText>) {
  return {
    keepsPrompt: keep.includes('prompt'),
    keepsAnswer: keep.includes('answer'),
    redact,
    days,
    isOwnReadable: readers === 'own',
  } satisfies Omit<ContentPolicy, 'match'>;
}
