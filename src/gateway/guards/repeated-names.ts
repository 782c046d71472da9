import { isObject, parseJson } from '../../core/json/object.ts';

/** A string of JSON, or one colon. A colon outside of strings follows the name of a member. */
const STRING_OR_COLON = /"[^"\\]*(?:\\.[^"\\]*)*"|:/g;

/** Whether an object in a JSON text has two members with the same name. @param text valid JSON */
export function hasRepeatedNames(text: string): boolean {
  let written = 0;
  for (const [token] of text.matchAll(STRING_OR_COLON)) if (token === ':') written++;
  return written !== membersIn(parseJson(text));
}

/** Returns the number of members of all objects in a JSON value. */
function membersIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + membersIn(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + 1 + membersIn(member), 0);
}
