import type { QuestionView } from './features.ts';
import { SIGN } from './lexicon/lexicon.ts';
import type { Sign } from './lexicon/signs.ts';
import { readQuestion } from './question.ts';
import { QuestionReading } from './reading.ts';
import { TASKS } from './tasks.ts';

/**
 * A system prompt that is little else than an order: "Translate into German", "You classify tickets as bug, billing or other".
 * Whatever the user sends is what it is to be done to, a question about code included.
 */

/** A longer system prompt, in UTF-16 code units, has rules and cases, and leaves room for other wishes. */
const ORDER_CHARS_MAX = 320;
/** A schema of tables takes more, and is no rule. */
const SCHEMA_CHARS_MAX = 1_200;
/** Words of a message that says hello or thanks, and nothing else. */
const TALK_WORDS_MAX = 8;

/** Verbs that are done to a text, and the task that each names. */
const VERBS: readonly (readonly [verb: Sign, task: string])[] = [
  ['translate', 'translation'],
  ['summarize', 'summarization'],
  ['extract', 'extraction'],
  ['classify', 'classification'],
  ['edit', 'writing'],
];

/** A sentence that makes SQL of what is asked: the verb leads, or the role is one that does. */
const QUERIES =
  /(?:^|[.!\n]\s*)(?:(?:you|please|always|du|sie|tu|vous) )*(?:are an? (?:text[- ]to[- ]|\w+ to )?sql (?:generator|writer|translator)|(?:generate|write|produce|return|output|translate|convert|turn|generiere|erzeuge|schreibe?|übersetze|génère|génères|écris|genera|generas|escribe|scrivi|gere|escreva)\b(?:(?!about|article|tutorial|lesson)[^.\n]){0,50}\b(?:sql|cypher|graphql|(?:mongodb|aggregation|elasticsearch|promql|kql) (?:\w+ )?(?:queries|query|pipelines?))\b)/i;
/** The role of somebody who does one thing to a text, where what is put out is said beside it. */
const ROLES: readonly (readonly [role: RegExp, task: string])[] = [
  [/^you are an? (?:[\w-]+ ){0,3}(?:translator|translation (?:engine|machine|service|api))\b/i, 'translation'],
  [/^you are an? (?:[\w-]+ ){0,3}(?:proofreader|copy[- ]?editor)\b/i, 'writing'],
  [/^you are an? (?:[\w-]+ ){0,3}summari[sz]er\b/i, 'summarization'],
  [/^you are an? (?:[\w-]+ ){0,3}classifier\b/i, 'classification'],
];

/** The order is for now and then, or for the answer, or one thing among others that an assistant does. */
const CONDITIONAL =
  /\b(?:if|when|where|whenever|unless)\b[^.\n]{0,30}\b(?:asks?|asked|wants?|requests?|requested|needed|necessary|helpful|possible)\b|\byour (?:answers?|repl(?:y|ies)|responses?|reasoning|thoughts|work)\b|\b(?:assist\w*|helps?|helpful|questions? about|answer (?:all |any |the )?(?:user )?questions?|teach\w*|tutor|chat|conversation|friendly|hilfst?|hilfreich\w*|falls|beantworte\w*|aide[sz]?|assistente?|ayuda\w*|aiuta\w*|ajuda\w*)\b|助手|アシスタント|помощник|помога/i;

/** Code is rewritten, improved and summarized as well. */
const OF_CODE = /\bcod(?:e|ebase|ing)\b|\bcompiler|\bengineer|\bdevelop|\brefactor|\bfunktion\b/i;
/** Who answers, and what leads an order in: the verb behind them counts. */
const ROLE =
  /(^|[.!?\n]\s*)(?:you are|you're|you’re|du bist|sie sind|tu es|vous êtes|eres|sei|você é)\b[^.!?\n]*[.!?]?/gi;
const LEAD_IN = /\b(?:your|the) (?:only |sole )?(?:job|task|role|goal) is (?:to |this: )?/gi;

/** Reads a system prompt once more, without what says who answers. */
function bodyOf(said: string, reading: QuestionReading): QuestionReading {
  const body = said.replace(ROLE, '$1').replace(LEAD_IN, '');
  return body === said ? reading : new QuestionReading(readQuestion(body));
}

/** The task that a system prompt orders, by its place in `TASKS`; -1 where it orders none. `told` is what is read of it. */
export function orderOf({ question: { text, length }, reading }: QuestionView): number {
  if (length > SCHEMA_CHARS_MAX) return -1;
  const said = text.trim();
  if (CONDITIONAL.test(said)) return -1;
  if (QUERIES.test(said)) return TASKS.indexOf('coding');
  if (length > ORDER_CHARS_MAX) return -1;
  for (const [role, task] of ROLES) if (role.test(said)) return TASKS.indexOf(task);
  if (OF_CODE.test(said)) return -1;
  const { lead, openings } = bodyOf(said, reading);
  for (const [verb, task] of VERBS) {
    const sign = SIGN[verb];
    if (lead === sign && openings[sign] === 1) return TASKS.indexOf(task);
  }
  return -1;
}

/** The task that a question is under the order of its system prompt, by its place in `TASKS`; -1 where the user is free. */
export function orderedTask({ standing, tools, reading }: QuestionView): number {
  if (standing === null || standing.order < 0 || tools !== null) return -1;
  const { signs, words } = reading;
  if (signs[SIGN.away]! > 0.4) return -1;
  const talks = signs[SIGN.thanks]! + signs[SIGN.greet]!;
  return talks > 0.4 && words <= TALK_WORDS_MAX && !reading.asksMark ? -1 : standing.order;
}
