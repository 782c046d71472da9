import { ListValues } from '../../core/json/list-memory.ts';
import type { Turn } from '../../core/request/conversation.ts';
import { FOLLOW_UP_CHARS_MAX, turnText } from '../texts.ts';
import type { PromptReader } from './prompt-reader.ts';
import type { UserMessage } from './user-message.ts';

const FOLLOW_UP_WORDS_MAX = 16;

/** A user's turn, with the reading of its text. */
export interface UserTurn {
  readonly message: UserMessage;
  readonly hasImage: boolean;
}

/** Reads a user's turn. @param isUnwrapped true for a message that consists only of blocks, which then contain the question */
export function readUserTurn(turn: Turn, reader: PromptReader, isUnwrapped = false): UserTurn {
  const text = turnText(turn);
  return { message: isUnwrapped ? reader.unwrapped(text) : reader.message(text), hasImage: hasImage(turn) };
}

/** Returns the indexes of the user's turns. The result is valid until the next call. */
export const userPlaces = (turns: readonly Turn[]): readonly number[] => knownPlaces.of(turns, null, addUserPlace);

const knownPlaces = new ListValues<Turn, number>();
function addUserPlace({ role }: Turn, at: number, places: number[]): void {
  if (role === 'user') places.push(at);
}

function hasImage({ parts }: Turn): boolean {
  for (let at = 0; at < parts.length; at++) if (parts[at]!.type === 'image') return true;
  return false;
}

/** Whether the user says or shows something. A turn that consists only of blocks of the caller's software says nothing. */
export const saysSomething = ({ message: { question }, hasImage }: UserTurn): boolean =>
  question.lines.length + question.codeFences > 0 || hasImage;

/** Whether a turn may be a follow-up to an earlier turn, because it is short. */
export const mayFollowUp = ({ message: { question, reading }, hasImage }: UserTurn): boolean =>
  !hasImage &&
  question.codeFences === 0 &&
  question.length <= FOLLOW_UP_CHARS_MAX &&
  reading.words <= FOLLOW_UP_WORDS_MAX;
