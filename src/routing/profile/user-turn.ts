import { ListValues } from '../../core/json/list-memory.ts';
import type { Turn } from '../../core/request/conversation.ts';
import { FOLLOW_UP_CHARS_MAX, turnText } from '../texts.ts';
import type { PromptReader } from './prompt-reader.ts';
import type { MessageReading } from './reading.ts';

const FOLLOW_UP_WORDS_MAX = 16;

/** A user's turn, with the reading of its text. */
export interface UserTurn {
  readonly message: MessageReading;
  readonly hasImage: boolean;
}

export const readUserTurn = (turn: Turn, reader: PromptReader): UserTurn => ({
  message: reader.message(turnText(turn)),
  hasImage: turn.parts.some(({ type }) => type === 'image'),
});

/** Returns the indexes of the user's turns. The result is valid until the next call. */
export const userPlaces = (turns: readonly Turn[]): readonly number[] => knownPlaces.of(turns, null, addUserPlace);

const knownPlaces = new ListValues<Turn, number>();
function addUserPlace({ role }: Turn, at: number, places: number[]): void {
  if (role === 'user') places.push(at);
}

/** Whether the user says or shows something. A turn that consists only of blocks of the caller's software says nothing. */
export const saysSomething = ({ message: { text }, hasImage }: UserTurn): boolean =>
  text.question !== '' || text.material !== '' || hasImage;

/** Whether a turn may be a follow-up to an earlier turn, because it is short. */
export const mayFollowUp = ({ message: { text, words }, hasImage }: UserTurn): boolean =>
  !hasImage && text.shown === 0 && text.question.length <= FOLLOW_UP_CHARS_MAX && words <= FOLLOW_UP_WORDS_MAX;
