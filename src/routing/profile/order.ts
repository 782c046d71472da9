import { SIGN, type Sign } from './lexicon/signs.ts';
import { readQuestion } from './question.ts';
import type { QuestionView } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import { TASKS } from './tasks.ts';

/** A longer system prompt, in UTF-16 code units, has rules and special cases. */
const ORDER_CHARS_MAX = 320;
/** One with a schema of tables is longer. */
const SCHEMA_CHARS_MAX = 1_200;
/** Words of a message that is only a greeting or thanks. */
const TALK_WORDS_MAX = 8;

/** Verbs that have a text as their object, with their tasks. */
const VERBS: readonly (readonly [verb: Sign, task: string])[] = [
  ['translate', 'translation'],
  ['summarize', 'summarization'],
  ['extract', 'extraction'],
  ['classify', 'classification'],
  ['edit', 'writing'],
];

/** An order to write SQL: by a leading verb, or by the role. */
const QUERIES =
  /(?:^|[.!\n]\s*)(?:(?:you|please|always|du|sie|tu|vous) )*(?:are an? (?:text[- ]to[- ]|\w+ to )?sql (?:generator|writer|translator)|(?:generate|write|produce|return|output|translate|convert|turn|generiere|erzeuge|schreibe?|übersetze|génère|génères|écris|genera|generas|escribe|scrivi|gere|escreva)\b(?:(?!about|article|tutorial|lesson)[^.\n]){0,50}\b(?:sql|cypher|graphql|(?:mongodb|aggregation|elasticsearch|promql|kql) (?:\w+ )?(?:queries|query|pipelines?))\b)/i;
/** Roles with a single task. */
const ROLES: readonly (readonly [role: RegExp, task: string])[] = [
  [/^you are an? (?:[\w-]+ ){0,3}(?:translator|translation (?:engine|machine|service|api))\b/i, 'translation'],
  [/^you are an? (?:[\w-]+ ){0,3}(?:proofreader|copy[- ]?editor)\b/i, 'writing'],
  [/^you are an? (?:[\w-]+ ){0,3}summari[sz]er\b/i, 'summarization'],
  [/^you are an? (?:[\w-]+ ){0,3}classifier\b/i, 'classification'],
];

/** Conditional orders, orders about the answer, and assistants with other duties. */
const CONDITIONAL =
  /\b(?:if|when|where|whenever|unless)\b[^.\n]{0,30}\b(?:asks?|asked|wants?|requests?|requested|needed|necessary|helpful|possible)\b|\byour (?:answers?|repl(?:y|ies)|responses?|reasoning|thoughts|work)\b|\b(?:assist\w*|helps?|helpful|questions? about|answer (?:all |any |the )?(?:user )?questions?|teach\w*|tutor|chat|conversation|friendly|hilfst?|hilfreich\w*|falls|beantworte\w*|aide[sz]?|assistente?|ayuda\w*|aiuta\w*|ajuda\w*)\b|助手|アシスタント|помощник|помога/i;

/** The verbs also apply to code. */
const OF_CODE = /\bcod(?:e|ebase|ing)\b|\bcompiler|\bengineer|\bdevelop|\brefactor|\bfunktion\b/i;
const ROLE =
  /(^|[.!?\n]\s*)(?:you are|you're|you’re|du bist|sie sind|tu es|vous êtes|eres|sei|você é)\b[^.!?\n]*[.!?]?/gi;
const LEAD_IN = /\b(?:your|the) (?:only |sole )?(?:job|task|role|goal) is (?:to |this: )?/gi;

/** Reads a system prompt without its role and lead-in, so that the verb behind them leads. */
function bodyOf(prompt: string, reading: QuestionReading): QuestionReading {
  const body = prompt.replace(ROLE, '$1').replace(LEAD_IN, '');
  return body === prompt ? reading : new QuestionReading(readQuestion(body));
}

/**
 * The task of a system prompt that is little else than an order: "Translate into German", "You classify tickets as bug,
 * billing or other". It applies to every message, a question about code included.
 *
 * @returns Index in `TASKS`; -1 for no such order.
 */
export function orderOf({ question: { text, length }, reading }: QuestionView): number {
  if (length > SCHEMA_CHARS_MAX) return -1;
  const prompt = text.trim();
  if (CONDITIONAL.test(prompt)) return -1;
  if (QUERIES.test(prompt)) return TASKS.indexOf('coding');
  if (length > ORDER_CHARS_MAX) return -1;
  for (const [role, task] of ROLES) if (role.test(prompt)) return TASKS.indexOf(task);
  if (OF_CODE.test(prompt)) return -1;
  const { lead, openings } = bodyOf(prompt, reading);
  for (const [verb, task] of VERBS) {
    const sign = SIGN[verb];
    if (lead === sign && openings[sign] === 1) return TASKS.indexOf(task);
  }
  return -1;
}

/**
 * The task of a question without tools by the order of its system prompt, as an index in `TASKS`; -1 where it does not follow it.
 * @param order the task that is ordered
 */
export function orderedTask({ reading }: QuestionView, order: number): number {
  const { signs, words } = reading;
  if (signs[SIGN.away]! > 0.4) return -1;
  const talks = signs[SIGN.thanks]! + signs[SIGN.greet]!;
  return talks > 0.4 && words <= TALK_WORDS_MAX && !reading.asksMark ? -1 : order;
}
