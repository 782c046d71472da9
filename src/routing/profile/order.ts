import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN, type Sign } from './lexicon/signs.ts';
import roles from './lexicon/system-prompt-roles.json' with { type: 'json' };
import file from './lexicon/system-prompts.json' with { type: 'json' };
import { readQuestion } from './question.ts';
import type { QuestionView } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import { TASKS } from './tasks.ts';

/** The verbs whose object is a text, with their tasks. */
const VERBS: readonly (readonly [verb: Sign, task: string])[] = [
  ['translate', 'translation'],
  ['summarize', 'summarization'],
  ['extract', 'extraction'],
  ['classify', 'classification'],
  ['edit', 'writing'],
];

const BOUND = figuresOf(file);
const WORDS = expressionsOf(file);
/** Roles that imply a single task, by task. */
const ROLES = Object.entries(expressionsOf(roles));

/** Reads a system prompt without its role and introduction, so that the verb after them counts as the first verb. */
function bodyOf(prompt: string, reading: QuestionReading): QuestionReading {
  const body = prompt.replace(WORDS.role, '$1').replace(WORDS.lead_in, '');
  return body === prompt ? reading : new QuestionReading(readQuestion(body));
}

/**
 * Returns the task of a system prompt that consists mainly of one instruction: "Translate into German", "You classify tickets as bug,
 * billing or other". The instruction applies to every message, even to a question about code.
 *
 * @returns an index in `TASKS`; -1 if the system prompt has no such instruction
 */
export function orderOf({ question: { text, length }, reading }: QuestionView): number {
  if (length > BOUND.query_order_chars_max) return -1;
  const prompt = text.trim();
  if (WORDS.conditional.test(prompt)) return -1;
  if (WORDS.queries.test(prompt)) return TASKS.indexOf('coding');
  if (length > BOUND.order_chars_max) return -1;
  for (const [task, role] of ROLES) if (role.test(prompt)) return TASKS.indexOf(task);
  if (WORDS.of_code.test(prompt)) return -1;
  const { lead, openings } = bodyOf(prompt, reading);
  for (const [verb, task] of VERBS) {
    const sign = SIGN[verb];
    if (lead === sign && openings[sign] === 1) return TASKS.indexOf(task);
  }
  return -1;
}

/**
 * Returns the task of a question without tools according to the instruction in its system prompt, as an index in `TASKS`. `orderedTask`
 * returns -1 if the question does not follow the instruction.
 * @param order the task that the instruction names
 */
export function orderedTask({ reading }: QuestionView, order: number): number {
  const { signs, words } = reading;
  if (signs[SIGN.away]! > 0.4) return -1;
  const talks = signs[SIGN.thanks]! + signs[SIGN.greet]!;
  return talks > 0.4 && words <= BOUND.talk_words_max && !reading.asksMark ? -1 : order;
}
