import type { GuardText } from '../../contract/guard.ts';
import { beyondLimits } from '../../core/json/limits.ts';
import { digitsAt, longNumbersIn } from '../../core/json/long-numbers.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { type Edit, type OriginalPath, withEdits } from '../../core/json/original.ts';
import type { Channel } from './held-parts.ts';
import { hasRepeatedNames } from './repeated-names.ts';

/** A text of a complete channel. The arguments of a call have a text for each value in them. */
export interface AnswerText extends GuardText {
  readonly channel: Channel;
  /** The location of the text in the arguments; null if the text is the whole channel. */
  readonly inside: OriginalPath | null;
}

/**
 * Returns the texts of a complete channel; none if it is empty.
 * @param text the text of the channel, with or without its edits
 */
export function textsOfChannel(channel: Channel, text: string): readonly AnswerText[] {
  const { kind, type } = channel;
  if (text === '') return [];
  const parsed = type === 'tool-call' ? parseArguments(text) : undefined;
  if (typeof parsed !== 'object' || parsed === null) return [{ text, role: 'assistant', kind, channel, inside: null }];
  const numbers = longNumbersIn(text);
  const texts: AnswerText[] = [];
  const add = (value: string, inside: OriginalPath): void =>
    void texts.push({ text: value, role: 'assistant', kind, channel, inside });
  const visit = (value: unknown, at: OriginalPath): void => {
    if (typeof value === 'string') add(value, at);
    else if (typeof value === 'number') add(digitsAt(numbers, value, at), at);
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, [...at, index]);
    else if (isObject(value)) {
      // The name of a member is no value, so it has the location of a value that does not exist.
      for (const [name, member] of Object.entries(value)) {
        add(name, NAME);
        visit(member, [...at, name]);
      }
    }
  };
  visit(parsed, []);
  return texts.filter((one) => one.text !== '');
}

const NAME: OriginalPath = [];

/** Returns the value of a call's arguments; undefined for no JSON, and for JSON that is nested too deeply for a walk over its values. */
const parseArguments = (text: string): unknown =>
  beyondLimits(text, Number.POSITIVE_INFINITY) === null ? parseJson(text) : undefined;

/** Whether a text of an answer must not change. */
export const isFixedText = ({ channel, inside }: AnswerText): boolean => channel.isFixed || inside === NAME;

/** Gives texts of complete channels new values. @param changed the new value of each text that changes */
export function changeTexts(changed: ReadonlyMap<AnswerText, string>): void {
  const inJson = new Map<Channel, Edit[]>();
  for (const [{ channel, inside }, value] of changed) {
    if (inside === null) replaceText(channel, value);
    else inJson.getOrInsertComputed(channel, () => []).push({ at: inside, value });
  }
  for (const [channel, edits] of inJson) {
    const parsed = parseJson(editedText(channel, 0, channel.text.length));
    if (typeof parsed === 'object' && parsed !== null) replaceText(channel, JSON.stringify(withEdits(parsed, edits)));
  }
}

/** Writes the arguments of a call without repeated names: of two members with the same name, only one is inspected. */
export function dropRepeatedNames(channel: Channel): void {
  if (channel.type !== 'tool-call') return;
  const { text } = channel;
  const parsed = parseArguments(text);
  if (typeof parsed === 'object' && parsed !== null && hasRepeatedNames(text))
    replaceText(channel, JSON.stringify(parsed));
}

function replaceText(channel: Channel, value: string): void {
  channel.edits = [{ from: 0, to: channel.text.length, value }];
}

/** Returns a part of a channel's text with the edits that begin in it. */
export function editedText({ text, edits }: Channel, start: number, end: number): string {
  let out = '';
  let at = start;
  for (const { from, to, value } of edits) {
    if (from >= start) out += text.slice(at, from) + value;
    at = Math.max(at, to);
  }
  return out + text.slice(at, end);
}
