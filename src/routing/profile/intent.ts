import type { Conversation, Turn } from '../../core/request/conversation.ts';
import type { Facts } from '../../core/request/facts.ts';
import { turnText } from '../texts.ts';
import { type OutputHint, outputHint } from './expected-output.ts';
import type { ProfileInput } from './input.ts';
import { stuckSigns } from './progress.ts';
import type { PromptReader } from './prompt-reader.ts';
import type { QuestionView, ToolContext } from './question-view.ts';
import { likelihoods } from './shares.ts';
import { instructionOf, type SystemPrompt, systemPromptText } from './system-prompt.ts';
import { type ReadingWeights, taskLogits } from './task-logits.ts';
import { forcesTool, isAmidTools } from './tools.ts';
import type { TaskGuess, UserMessage } from './user-message.ts';
import { mayFollowUp, readUserTurn, saysSomething, type UserTurn, userPlaces } from './user-turn.ts';
import type { Words } from './word-sums.ts';

export interface Intent
  extends Pick<Facts, 'task' | 'mix' | 'difficulty' | 'stuck' | 'naturalLanguage' | 'languagesSeen'> {
  readonly output: OutputHint;
  /** How likely the last question is hard, 0..1; 0 if it was not read. */
  readonly hard: number;
}

/** The number of user messages that are read to understand a follow-up, including the last one. */
const TURNS = 4;

/**
 * Reads the intent of the last user message. Earlier messages that the last user message may follow up, and the system prompt, are the
 * context of that message.
 */
export function readIntent(request: ProfileInput, reader: PromptReader): Intent {
  const turns = userTurns(request.conversation.turns, reader);
  const [last] = turns;
  const system = last === undefined ? null : systemPromptOf(request, reader);
  const guess = guessTask(request, turns, system, reader);
  const { task, mix, difficulty, hard } = guess;
  const stuck = stuckSigns(request, reader);
  return {
    task,
    mix,
    difficulty,
    ...(stuck && { stuck }),
    naturalLanguage: naturalLanguageOf(turns) ?? (last && last.message.reading.words > 0 ? 'en' : 'und'),
    languagesSeen: task === 'coding' ? languagesOfCode(turns, system) : programmingLanguages(turns, false),
    output: outputHint(request, guess, last?.message.reading ?? null, reader),
    hard,
  };
}

/**
 * Returns how likely the first question of a conversation is hard, 0..1: the last question before the model's first answer. All later
 * requests of the conversation therefore give the same figure. Images, audio and files are not read, so a question with them counts as 0.
 * @param hard the figure for the last question
 */
export function firstHardness(request: ProfileInput, hard: number, reader: PromptReader): number {
  const { conversation } = request;
  const { turns } = conversation;
  const answer = turns.findIndex(({ role }) => role === 'assistant');
  const opening = answer < 0 ? turns : turns.slice(0, answer);
  if (opening.some(({ parts }) => parts.some(({ type }) => MEDIA.has(type)))) return 0;
  if (answer < 0) return hard;
  const first = { ...request, conversation: { ...conversation, turns: opening } };
  const questions = userTurns(opening, reader);
  return guessTask(first, questions, questions.length === 0 ? null : systemPromptOf(first, reader), reader).hard;
}

const MEDIA: ReadonlySet<string> = new Set(['image', 'audio', 'file']);

/** Returns the language of the latest turn whose language can be recognized. */
function naturalLanguageOf(turns: readonly UserTurn[]): string | null {
  for (let at = 0; at < turns.length; at++) {
    const { naturalLanguage } = turns[at]!.message.reading;
    if (naturalLanguage !== null) return naturalLanguage;
  }
  return null;
}

/** Returns the last question in its context; null if there is none. The parameter `weights` is described at `taskLogits`. */
export const lastView = (request: ProfileInput, reader: PromptReader, weights?: ReadingWeights): QuestionView | null =>
  viewOf(request, userTurns(request.conversation.turns, reader), systemPromptOf(request, reader), reader, weights);

/** Returns the system prompt, read like a question; null if there is none. */
export const systemPromptView = (
  request: Pick<ProfileInput, 'conversation'>,
  reader: PromptReader,
): QuestionView | null => systemPromptOf(request, reader)?.view ?? null;

function systemPromptOf(
  { conversation }: Pick<ProfileInput, 'conversation'>,
  reader: PromptReader,
): SystemPrompt | null {
  const text = systemPromptText(conversation.turns);
  return text ? reader.systemPrompt(text) : null;
}

/** Returns the last question, the question before it if the last one may be a follow-up, and so on, latest first. */
function userTurns(all: readonly Turn[], reader: PromptReader): UserTurn[] {
  const turns: UserTurn[] = [];
  let blocks: Turn | null = null;
  const places = userPlaces(all);
  for (let back = 1; back <= 2 * TURNS && back <= places.length && turns.length < TURNS; back++) {
    const one = all[places.at(-back)!]!;
    const turn = readUserTurn(one, reader);
    if (saysSomething(turn)) {
      turns.push(turn);
      if (!mayFollowUp(turn)) break;
    } else blocks ??= one;
  }
  // If the message has no text outside of blocks, the blocks contain the question.
  if (turns.length === 0 && blocks) turns.push(readUserTurn(blocks, reader, true));
  return turns;
}

/** Returns the last turn with the other turns and the system prompt as its context. */
function viewOf(
  { conversation }: ProfileInput,
  turns: readonly UserTurn[],
  prompt: SystemPrompt | null,
  reader: PromptReader,
  weights?: ReadingWeights,
): QuestionView | null {
  const { tables } = reader;
  const system = prompt && (weights ? instructionOf(prompt.view, tables, weights) : prompt.instruction);
  const context = prompt ? [prompt.words] : [];
  let before: QuestionView['before'] = null;
  for (let at = turns.length - 1; at >= 0; at--) {
    const { message } = turns[at]!;
    const { question, reading, shape } = message;
    const isOffered = at === 0 && conversation.tools.length > 0 && conversation.toolChoice !== 'none';
    const tools = isOffered ? toolContext(conversation, message, reader) : null;
    const earlier = turns[at + 1];
    const words = [
      ...message.words,
      ...context,
      ...(earlier ? [earlier.message.asBefore] : []),
      ...(at === 0 ? answerBefore(conversation.turns, reader) : []),
    ];
    const view: QuestionView = { question, reading, shape, tools, before, system, words, isSystemPrompt: false };
    if (at === 0) return view;
    before = weights ? likelihoods(taskLogits(view, tables, weights)) : message.likelihoods(view);
  }
  return null;
}

/** The number of characters read at the end of the answer before a question. */
const ANSWER = 300;

/** Returns the words of the model's answer before the last message of the user; none without one. */
function answerBefore(turns: readonly Turn[], reader: PromptReader): Words[] {
  const answer = turns[(userPlaces(turns).at(-1) ?? 0) - 1];
  if (answer?.role !== 'assistant') return [];
  const text = turnText(answer);
  return text ? [reader.answer(text.slice(-ANSWER))] : [];
}

const toolContext = ({ tools, turns }: Conversation, message: UserMessage, reader: PromptReader): ToolContext => ({
  named: message.namesTool(tools, reader.offeredNames),
  amid: isAmidTools(turns),
});

function guessTask(
  request: ProfileInput,
  turns: readonly UserTurn[],
  system: SystemPrompt | null,
  reader: PromptReader,
): TaskGuess {
  const [last, earlier] = turns;
  if (last?.hasImage) return certainly('vision');
  const { conversation } = request;
  if (conversation.tools.length > 0 && forcesTool(conversation)) return certainly('tool_use');
  const view = viewOf(request, turns, system, reader);
  if (view === null) return certainly('general');
  if (isEmojiAlone(view, conversation.turns)) return { task: 'chat', mix: [], difficulty: 'easy', hard: 0 };
  const guess = last!.message.guess(view);
  // A general question after an image is mostly about the image.
  return earlier?.hasImage && guess.task === 'general' ? certainly('vision') : guess;
}

/**
 * Whether the message is only an emoji such as 👍, 🙏 or ❤️, which means thanks. An emoji does not mean thanks if it answers a question, if
 * tools are in use, or if the system prompt says what to do with it.
 */
function isEmojiAlone({ question, tools, system }: QuestionView, turns: readonly Turn[]): boolean {
  if (question.length > EMOJI_CHARS_MAX || !EMOJI.test(question.text.trim())) return false;
  if (tools?.amid || (system !== null && (system.binds || system.order >= 0))) return false;
  const said = turns.findLast(({ role }) => role === 'assistant');
  return said === undefined || !/[?？]\s*$/.test(turnText(said));
}

const EMOJI_CHARS_MAX = 40;
const EMOJI = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\u200d\ufe0f\s!.])+$/u;

const certainly = (task: string): TaskGuess => ({ task, mix: [], difficulty: 'usual', hard: 0 });

/**
 * A system prompt that names more programming languages than this lists skills. A list of skills does not determine the language of the
 * answer.
 */
const SYSTEM_PROMPT_LANGUAGES_MAX = 2;

/** Returns the programming languages of the questions, or otherwise of the system prompt, as in "Generate SQL …". */
function languagesOfCode(turns: readonly UserTurn[], system: SystemPrompt | null): readonly string[] {
  const seen = programmingLanguages(turns, true);
  if (seen.length > 0 || system === null) return seen;
  const { languages } = system.view.reading;
  return languages.length === 0 || languages.length > SYSTEM_PROMPT_LANGUAGES_MAX ? seen : [...languages].sort();
}

/** Returns the programming languages of the latest turn that names one. For tasks other than coding, only the last turn counts. */
function programmingLanguages(turns: readonly UserTurn[], isCoding: boolean): readonly string[] {
  for (let at = 0; at < (isCoding ? turns.length : Math.min(1, turns.length)); at++) {
    const { question, reading } = turns[at]!.message;
    const { languages, homographs } = reading;
    if (languages.length + homographs.length + question.fenced.length + question.languages.size === 0) continue;
    const seen = new Set([...languages, ...question.fenced]);
    const shown = mostSeen(question.languages);
    if (shown !== null) seen.add(shown);
    if (isCoding || seen.size > 0) for (const name of homographs) seen.add(name);
    if (seen.size > 0) return [...seen].sort();
  }
  return NO_LANGUAGES;
}

const NO_LANGUAGES: readonly string[] = [];

function mostSeen(languages: ReadonlyMap<string, number>): string | null {
  let most: string | null = null;
  for (const [language, times] of languages) if (most === null || times > languages.get(most)!) most = language;
  return most;
}
