import type { ChatMessage } from '../../core/chat-request.ts';
import type { Facts } from '../../core/facts.ts';
import { evidenceOf, type Fitted } from './evidence.ts';
import { type OutputAsked, outputAsked } from './expected-output.ts';
import type { View } from './features.ts';
import { likeliest } from './natural.ts';
import type { Profiled } from './profile.ts';
import { type Question, readQuestion } from './question.ts';
import { Reading } from './reading.ts';
import { shapeOf } from './shape.ts';
import { likelihoods, sharesOf } from './shares.ts';
import { forcesTool, isAmidTools, namesTool } from './tools.ts';

export interface Asked extends Pick<Facts, 'task' | 'mix' | 'naturalLanguage' | 'languagesSeen'> {
  readonly output: OutputAsked;
}

/** Messages of the user that are read for a follow-up's sake, the last one included. */
const TURNS = 4;
/** A question of more than this, in UTF-16 code units and words, stands for itself. */
const LEANING = 160;
const LEANING_WORDS = 16;

/** A message of the user. */
interface Turn {
  readonly question: Question;
  readonly reading: Reading;
  readonly hasImage: boolean;
}

/** What the user asks in the last message, in the light of those before that it may lean on. */
export function asked(request: Profiled): Asked {
  const turns = turnsOf(request.messages);
  const [last] = turns;
  const language = turns.map(({ reading }) => likeliest(reading.votes)).find((told) => told !== null);
  const decided = decide(request, turns);
  const isCoding = decided.task === 'coding';
  return {
    ...decided,
    naturalLanguage: language ?? (last && last.reading.words > 0 ? 'en' : 'und'),
    languagesSeen: programmingLanguages(isCoding ? turns : turns.slice(0, 1), isCoding),
    output: outputAsked(request, decided.task, last?.reading ?? null),
  };
}

/** What is read of the last question; null where there is none. `fitted` weighs the questions before; see `evidenceOf`. */
export const lastView = (request: Profiled, fitted: Fitted): View | null =>
  viewOf(request, turnsOf(request.messages), fitted);

/** The last question, the one before where that may be needed to understand it, and so on: the last one first. */
function turnsOf(messages: readonly ChatMessage[]): Turn[] {
  const turns: Turn[] = [];
  let blocks: ChatMessage | null = null;
  for (let at = messages.length - 1, left = 2 * TURNS; at >= 0 && left > 0 && turns.length < TURNS; at--) {
    const message = messages[at]!;
    if (message.role !== 'user') continue;
    left--;
    const turn = turnOf(message, false);
    if (turn.question.lines.length + turn.question.codeFences > 0 || turn.hasImage) {
      turns.push(turn);
      if (!mayLean(turn)) break;
    } else blocks ??= message;
  }
  // Nothing but blocks: what is in them asks.
  if (turns.length === 0 && blocks) turns.push(turnOf(blocks, true));
  return turns;
}

function turnOf({ content }: ChatMessage, isUnwrapped: boolean): Turn {
  let text = typeof content === 'string' ? content : '';
  let hasImage = false;
  for (const part of typeof content === 'string' ? [] : (content ?? [])) {
    if (part.type === 'text') text = text ? `${text}\n${part.text}` : part.text;
    else if (part.type === 'image_url') hasImage = true;
  }
  const question = readQuestion(text, isUnwrapped);
  return { question, reading: new Reading(question), hasImage };
}

/** Whether it is so short that it may be about what was said before. */
const mayLean = ({ question, reading, hasImage }: Turn): boolean =>
  !hasImage && question.codeFences === 0 && question.length <= LEANING && reading.words <= LEANING_WORDS;

/** The last of the turns in the light of the others. */
function viewOf({ messages, tools, tool_choice: choice }: Profiled, turns: readonly Turn[], fitted?: Fitted) {
  let before: View['before'] = null;
  for (let at = turns.length - 1; at >= 0; at--) {
    const { question, reading } = turns[at]!;
    const isOffered = at === 0 && tools?.length && choice !== 'none';
    const offer = isOffered ? { named: namesTool(tools, question, reading), amid: isAmidTools(messages) } : null;
    const view: View = { question, reading, shape: shapeOf(question), tools: offer, before };
    if (at === 0) return view;
    before = likelihoods(evidenceOf(view, fitted));
  }
  return null;
}

function decide(request: Profiled, turns: readonly Turn[]): Pick<Asked, 'task' | 'mix'> {
  const [last, earlier] = turns;
  if (last?.hasImage) return { task: 'vision', mix: [] };
  if (forcesTool(request)) return { task: 'tool_use', mix: [] };
  const view = viewOf(request, turns);
  if (view === null) return { task: 'general', mix: [] };
  const told = sharesOf(evidenceOf(view));
  // What is asked next about an image is mostly about the image.
  return earlier?.hasImage && told.task === 'general' ? { task: 'vision', mix: [] } : told;
}

/** Programming languages of the last question, or of the one before where it names none and leans on that. */
function programmingLanguages(turns: readonly Turn[], isCoding: boolean): string[] {
  for (const { question, reading } of turns) {
    const seen = new Set([...reading.languages, ...question.fenced]);
    const shown = mostSeen(question.languages);
    if (shown !== null) seen.add(shown);
    if (isCoding || seen.size > 0) for (const name of reading.homographs) seen.add(name);
    if (seen.size > 0) return [...seen].sort();
  }
  return [];
}

function mostSeen(languages: ReadonlyMap<string, number>): string | null {
  let most: string | null = null;
  for (const [language, times] of languages) if (most === null || times > languages.get(most)!) most = language;
  return most;
}
