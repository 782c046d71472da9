import { isObject, parseJson } from '../json/object.ts';
import { type CheckBudget, fitsSchema } from '../schema/fits.ts';
import type { ToolCallPart, ToolDefinition } from './conversation.ts';

/**
 * Whether the arguments of a call are a JSON object that fits the parameters of its function. A call without arguments has an empty object.
 * A function that the request does not define may have any parameters. The search for the function takes steps, too, because a request may have
 * thousands of calls and of functions.
 */
export function isFittingCall(
  { name, arguments: text }: Pick<ToolCallPart, 'name' | 'arguments'>,
  tools: readonly ToolDefinition[],
  budget: CheckBudget,
): boolean {
  const value = text.trim() === '' ? {} : parseJson(text);
  if (!isObject(value)) return false;
  budget.left -= tools.length;
  if (budget.left < 0) return true;
  const parameters = tools.find((tool) => tool.name === name)?.parameters;
  return parameters === undefined || fitsSchema(parameters, value, budget);
}
