import type { GuardText } from '../../contract/guard.ts';
import { beyondLimits } from '../../core/json/limits.ts';
import { numberText } from '../../core/json/long-numbers.ts';
import { parseJson } from '../../core/json/object.ts';
import type { Channel } from './channel.ts';
import { hasRepeatedNames } from './repeated-names.ts';
import { ARGUMENT_VALUES_MAX } from './text-walk.ts';

/** A string or a number in a JSON text, with its place. */
interface JsonToken {
  readonly from: number;
  readonly to: number;
  /** Whether the string is the name of a member. */
  readonly isName: boolean;
}

/** A text of a complete channel. A channel with JSON has a text for each value and each name in it. */
export interface AnswerText extends GuardText {
  readonly channel: Channel;
  /** The place of the text in the JSON of its channel; null if the text is the whole channel. */
  readonly token: JsonToken | null;
}

/** A string or a number of valid JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const COLON = /\s*:/y;

/**
 * Returns the texts of a complete channel; none if it is empty.
 * @param text the text of the channel, with or without its edits
 */
export function textsOfChannel(channel: Channel, text: string): readonly AnswerText[] {
  const { kind } = channel;
  if (text === '') return [];
  const textIn = (value: string, token: JsonToken | null): AnswerText => ({
    text: value,
    role: 'assistant',
    kind,
    channel,
    token,
  });
  const hasTooMany = channel.isJson && beyondLimits(text, ARGUMENT_VALUES_MAX) === 'values';
  if (!channel.isJson || hasTooMany || parseJson(text) === undefined) return [textIn(text, null)];
  const texts: AnswerText[] = [];
  for (const { 0: written, index: from } of text.matchAll(TOKEN)) {
    const to = from + written.length;
    COLON.lastIndex = to;
    const value = written.startsWith('"') ? String(JSON.parse(written)) : numberText(written);
    if (value !== '') texts.push(textIn(value, { from, to, isName: COLON.test(text) }));
  }
  return texts;
}

/** Returns the value of a call's arguments; undefined for no JSON, and for JSON that is nested too deeply for a walk over its values. */
const parseArguments = (text: string): unknown =>
  beyondLimits(text, ARGUMENT_VALUES_MAX) === null ? parseJson(text) : undefined;

/** Whether a text of an answer must not change. */
export const isFixedText = ({ channel, token }: AnswerText): boolean =>
  channel.isFixed || (channel.type === 'tool-call' && token !== null && token.isName);

/** Gives texts of complete channels new values. A changed number of JSON becomes a string. @param changed the new value of each text */
export function changeTexts(changed: ReadonlyMap<AnswerText, string>): void {
  const inJson = new Map<Channel, (JsonToken & { readonly value: string })[]>();
  for (const [{ channel, token }, value] of changed) {
    if (token === null) replaceText(channel, value);
    else inJson.getOrInsertComputed(channel, () => []).push({ ...token, value });
  }
  for (const [channel, edits] of inJson) {
    const text = editedText(channel, 0, channel.length);
    let out = '';
    let last = 0;
    for (const { from, to, value } of edits.sort((a, b) => a.from - b.from)) {
      out += text.slice(last, from) + JSON.stringify(value);
      last = to;
    }
    replaceText(channel, out + text.slice(last));
  }
}

/** Writes JSON without repeated names: of two members with the same name, a reader may take either. */
export function dropRepeatedNames(channel: Channel): void {
  if (!channel.isJson) return;
  const { text } = channel;
  const parsed = parseArguments(text);
  if (typeof parsed === 'object' && parsed !== null && hasRepeatedNames(text))
    replaceText(channel, JSON.stringify(parsed));
}

function replaceText(channel: Channel, value: string): void {
  channel.edits = [{ from: 0, to: channel.length, value }];
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
