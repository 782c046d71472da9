import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN, type Sign } from './lexicon/signs.ts';
import roles from './lexicon/system-prompt-roles.json' with { type: 'json' };
import file from './lexicon/system-prompts.json' with { type: 'json' };
import { readQuestion } from './question.ts';
import type { QuestionView } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import { TASKS } from './tasks.ts';
import type { TextTables } from './text-tables.ts';

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
function bodyOf(prompt: string, reading: QuestionReading, tables: TextTables): QuestionReading {
  const body = prompt.replace(WORDS.role, '$1').replace(WORDS.lead_in, '');
  return body === prompt ? reading : new QuestionReading(readQuestion(body, tables, 'system prompt'), tables);
}

/**
 * Returns the task of a system prompt that consists mainly of one instruction: "Translate into German", "You classify tickets as bug,
 * billing or other". The instruction applies to every message, even to a question about code.
 *
 * @returns an index in `TASKS`; -1 if the system prompt has no such instruction
 */
export function orderOf({ question: { text, length }, reading }: QuestionView, tables: TextTables): number {
  if (length > BOUND.query_order_chars_max) return -1;
  const prompt = text.trim();
  if (WORDS.conditional.test(prompt)) return -1;
  if (WORDS.queries.test(prompt)) return TASKS.indexOf('coding');
  if (length > BOUND.order_chars_max) return -1;
  for (const [task, role] of ROLES) if (role.test(prompt)) return TASKS.indexOf(task);
  if (WORDS.of_code.test(prompt)) return -1;
  const { lead, openings } = bodyOf(prompt, reading, tables);
  for (const [verb, task] of VERBS) {
    const sign = SIGN[verb];
    if (lead === sign && openings[sign] === 1) return TASKS.indexOf(task);
  }
  return -1;
}

const CHAT = TASKS.indexOf('chat');
/** The maximum number of other words in a greeting: "Great food, friendly staff!" is none. */
const OTHER_WORDS = 2.5;

/**
 * Returns the task that a question under a system prompt has in any case, as an index in `TASKS`; -1 for none. Greetings and thanks are chat.
 * Any other question without tools follows the instruction of the system prompt, unless the question changes the subject.
 */
export function certainTask({ system, tools, reading }: QuestionView): number {
  if (system === null || tools?.amid) return -1;
  const { signs, words, functionWords, asksMark } = reading;
  const talks = signs[SIGN.thanks]! + signs[SIGN.greet]!;
  const isTalk = talks > 0.4 && words <= BOUND.talk_words_max && words - functionWords - talks <= OTHER_WORDS;
  if (isTalk && !asksMark) return CHAT;
  return tools === null && signs[SIGN.away]! <= 0.4 ? system.order : -1;
}
