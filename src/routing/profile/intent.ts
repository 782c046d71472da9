import type { ChatMessage, Tool } from '../../core/chat-request.ts';
import type { Facts } from '../../core/facts.ts';
import { difficultyOf } from './difficulty.ts';
import { type OutputHint, outputHint } from './expected-output.ts';
import type { QuestionView, SystemInstruction, ToolContext } from './features.ts';
import { SIGN } from './lexicon/lexicon.ts';
import { likeliest } from './natural.ts';
import { orderOf } from './order.ts';
import type { ProfileInput } from './profile.ts';
import { type QuestionText, readQuestion } from './question.ts';
import { shapeOf } from './question-shape.ts';
import { QuestionReading } from './reading.ts';
import { likelihoods, sharesOf } from './shares.ts';
import { isAgentOfPeople, systemPromptText } from './system-prompt.ts';
import { type TaskLogits, type TaskWeights, taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';
import { forcesTool, isAmidTools, namesTool, resultsOf } from './tools.ts';

export interface Intent extends Pick<Facts, 'task' | 'mix' | 'difficulty' | 'naturalLanguage' | 'languagesSeen'> {
  readonly output: OutputHint;
}

/** Messages of the user that are read for a follow-up's sake, the last one included. */
const TURNS = 4;
/** A question of more than this, in UTF-16 code units and words, stands for itself. */
const LEANING = 160;
const LEANING_WORDS = 16;

/** A message of the user. */
interface Turn {
  readonly question: QuestionText;
  readonly reading: QuestionReading;
  readonly hasImage: boolean;
}

/** What the user asks in the last message, in the light of those before that it may lean on, and of the system prompt. */
export function readIntent(request: ProfileInput): Intent {
  const turns = turnsOf(request.messages);
  const [last] = turns;
  const told = last === undefined ? null : systemPromptView(request);
  const language = turns.map(({ reading }) => likeliest(reading.votes)).find((one) => one !== null);
  const decided = decide(request, turns, told);
  const isCoding = decided.task === 'coding';
  return {
    ...decided,
    naturalLanguage: language ?? (last && last.reading.words > 0 ? 'en' : 'und'),
    languagesSeen: isCoding ? languagesOfCode(turns, told) : programmingLanguages(turns.slice(0, 1), false),
    output: outputHint(request, decided, last?.reading ?? null),
  };
}

/** What is read of the last question; null where there is none. `fitted` weighs what stands before; see `taskLogits`. */
export const lastView = (request: ProfileInput, fitted?: TaskWeights): QuestionView | null =>
  viewOf(request, turnsOf(request.messages), systemPromptView(request), fitted);

/** What is read of the system prompt as if it readIntent; null where there is none. */
export function systemPromptView({ messages }: Pick<ProfileInput, 'messages'>): QuestionView | null {
  const text = systemPromptText(messages);
  if (!text) return null;
  const question = readQuestion(text);
  const reading = new QuestionReading(question);
  return {
    question,
    reading,
    shape: shapeOf(question),
    tools: null,
    before: null,
    standing: null,
    isSystemPrompt: true,
  };
}

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
  return { question, reading: new QuestionReading(question), hasImage };
}

/** Whether it is so short that it may be about what was said before. */
const mayLean = ({ question, reading, hasImage }: Turn): boolean =>
  !hasImage && question.codeFences === 0 && question.length <= LEANING && reading.words <= LEANING_WORDS;

/** Characters of a system prompt that has one word that binds; a long one, of an agent, has one by chance. */
const BINDING = 500;
const BINDING_MOST = 640;

const bindsAll = ({ question, reading }: QuestionView): boolean => {
  const words = reading.signs[SIGN.bind]!;
  return words > 0.4 && words * BINDING >= Math.min(question.length, BINDING_MOST);
};

const CODING = TASKS.indexOf('coding');
/** What an agent of people loses of code, in logits: most agents are of code. */
const NO_CODER = 3;

function toldBy(told: QuestionView, fitted?: TaskWeights): TaskLogits {
  const evidence = taskLogits(told, fitted);
  if (isAgentOfPeople(told.question.text)) evidence[CODING]! -= NO_CODER;
  return evidence;
}

/** The last of the turns in the light of the others, and of the system prompt. */
function viewOf(
  { messages, tools, tool_choice: choice }: ProfileInput,
  turns: readonly Turn[],
  told: QuestionView | null,
  fitted?: TaskWeights,
): QuestionView | null {
  const standing: SystemInstruction | null = told && {
    tasks: likelihoods(toldBy(told, fitted)),
    binds: bindsAll(told),
    order: orderOf(told),
    text: told.question.text,
  };
  let before: QuestionView['before'] = null;
  for (let at = turns.length - 1; at >= 0; at--) {
    const { question, reading } = turns[at]!;
    const isOffered = at === 0 && tools?.length && choice !== 'none';
    const offer = isOffered ? toolContext(tools, messages, turns[at]!) : null;
    const shape = shapeOf(question);
    const view: QuestionView = { question, reading, shape, tools: offer, before, standing, isSystemPrompt: false };
    if (at === 0) return view;
    before = likelihoods(taskLogits(view, fitted));
  }
  return null;
}

function toolContext(
  tools: readonly Tool[],
  messages: readonly ChatMessage[],
  { question, reading }: Turn,
): ToolContext {
  const amid = isAmidTools(messages);
  return { named: namesTool(tools, question, reading), amid, ...(amid ? resultsOf(messages) : NO_RESULTS) };
}
const NO_RESULTS = { calls: 0, result: '' } as const;

function decide(request: ProfileInput, turns: readonly Turn[], standing: QuestionView | null): Decided {
  const [last, earlier] = turns;
  if (last?.hasImage) return usually('vision');
  if (forcesTool(request)) return usually('tool_use');
  const view = viewOf(request, turns, standing);
  if (view === null) return usually('general');
  const { task, mix } = sharesOf(taskLogits(view));
  // What is readIntent next about an image is mostly about the image.
  if (earlier?.hasImage && task === 'general') return usually('vision');
  return { task, mix, difficulty: difficultyOf(view, { task, mix }) };
}

type Decided = Pick<Intent, 'task' | 'mix' | 'difficulty'>;

const usually = (task: string): Decided => ({ task, mix: [], difficulty: 'usual' });

/** A system prompt that names more languages than this says what its writer knows, not what the answer is to be in. */
const LANGUAGES_TOLD = 2;

/** Programming languages of the questions, or those of the system prompt: "Generate SQL …". */
function languagesOfCode(turns: readonly Turn[], told: QuestionView | null): string[] {
  const seen = programmingLanguages(turns, true);
  if (seen.length > 0 || told === null) return seen;
  const { languages } = told.reading;
  return languages.length > LANGUAGES_TOLD ? seen : [...languages].sort();
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
