import type { Conversation } from '../../core/request/conversation.ts';
import type { Difficulty, Facts } from '../../core/request/facts.ts';
import { type OutputHint, outputHint } from './expected-output.ts';
import type { ProfileInput } from './input.ts';
import { stuckSigns } from './progress.ts';
import type { PromptReader } from './prompt-reader.ts';
import { askedTurns, type Question, readQuestion } from './question.ts';
import { type Guess, sharesOf } from './shares.ts';
import { COLUMN } from './table.ts';
import { forcesTool } from './tools.ts';
import type { UserTurn } from './user-turn.ts';

export interface Intent
  extends Pick<Facts, 'task' | 'mix' | 'difficulty' | 'stuck' | 'naturalLanguage' | 'languagesSeen'> {
  readonly output: OutputHint;
  /** How likely the last question is hard, 0..1; 0 if it was not read. */
  readonly hard: number;
}

/**
 * Reads the intent of the last user message. The system prompt, and earlier messages that the last one may follow up, tell its task. Its
 * difficulty depends on the message alone.
 */
export function readIntent(request: ProfileInput, reader: PromptReader): Intent {
  const question = readQuestion(request.conversation, reader);
  const { task, mix } = guessTask(request.conversation, question);
  const [last] = question.asked;
  const stuck = stuckSigns(request, reader);
  return {
    task,
    mix,
    difficulty: last?.hasImage ? 'usual' : difficultyOf(question.odds),
    ...(stuck && { stuck }),
    naturalLanguage:
      naturalLanguageOf(question.asked) ?? (LETTER.test(last?.message.text.question ?? '') ? 'en' : 'und'),
    languagesSeen: programmingLanguages(question, task === 'coding'),
    output: outputHint(request, task, question),
    hard: last === undefined ? 0 : hardShareOf(question.odds),
  };
}

/**
 * Returns how likely the first question of a conversation is hard, 0..1: the last question before the model's first answer. All later
 * requests of the conversation therefore give the same figure. Images, audio and files are not read, so a question with them counts as 0.
 * @param hard the figure for the last question
 */
export function firstHardness({ conversation: { turns } }: ProfileInput, hard: number, reader: PromptReader): number {
  const answer = turns.findIndex(({ role }) => role === 'assistant');
  const opening = answer < 0 ? turns : turns.slice(0, answer);
  if (opening.some(({ parts }) => parts.some(({ type }) => MEDIA.has(type)))) return 0;
  if (answer < 0) return hard;
  const [first] = askedTurns(opening, reader);
  return first === undefined ? 0 : hardShareOf(first.message.sums);
}

const LETTER = /\p{L}/u;
const MEDIA: ReadonlySet<string> = new Set(['image', 'audio', 'file']);

/** The log odds from which a request counts as hard or easy: 88 and 62 %. */
const HARD = 2;
const EASY = 0.5;

function difficultyOf(odds: Float64Array): Difficulty {
  if (odds[COLUMN.hard]! > HARD) return 'hard';
  return odds[COLUMN.easy]! > EASY ? 'easy' : 'usual';
}

/** Returns how likely a question is demanding or harder, 0..1, rounded to a thousandth, because records store it. */
const hardShareOf = (odds: Float64Array): number => Math.round(1_000 / (1 + Math.exp(-odds[COLUMN.hard]!))) / 1_000;

/** Returns the task of a question, and the likely tasks with their shares. */
function guessTask(conversation: Conversation, { asked, odds }: Question): Guess {
  const [last, earlier] = asked;
  if (last?.hasImage) return certainly('vision');
  if (conversation.tools.length > 0 && forcesTool(conversation)) return certainly('tool_use');
  if (last === undefined) return certainly('general');
  const guess = sharesOf(odds);
  // A general question after an image is mostly about the image.
  return earlier?.hasImage && guess.task === 'general' ? certainly('vision') : guess;
}

const certainly = (task: string): Guess => ({ task, mix: [] });

/** Returns the language of the latest turn whose language can be recognized. */
function naturalLanguageOf(asked: readonly UserTurn[]): string | null {
  for (const { message } of asked) if (message.naturalLanguage !== null) return message.naturalLanguage;
  return null;
}

/** A system prompt that names more programming languages than this lists skills, which do not tell the language of the answer. */
const SYSTEM_PROMPT_LANGUAGES_MAX = 2;

/** Returns the programming languages of the latest message that names one, or of the system prompt. Otherwise only the last message counts. */
function programmingLanguages({ asked, system }: Question, isCoding: boolean): readonly string[] {
  for (const { message } of isCoding ? asked : asked.slice(0, 1)) {
    const { programming, text, shownLanguage } = message;
    const isNamed = programming.names.length + text.fenced.length > 0 || shownLanguage !== null;
    if (!isNamed && !(isCoding && programming.everyday.length > 0)) continue;
    const seen = new Set([...programming.names, ...text.fenced, ...programming.everyday]);
    if (shownLanguage !== null) seen.add(shownLanguage);
    return [...seen].sort();
  }
  const names = isCoding ? (system?.programming.names ?? []) : [];
  return names.length > SYSTEM_PROMPT_LANGUAGES_MAX ? [] : [...names].sort();
}
