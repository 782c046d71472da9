import { SharedValues } from '../../core/json/shared-values.ts';
import type { Conversation, ToolDefinition, Turn } from '../../core/request/conversation.ts';

/** Words of function names that say nothing about the topic. */
const GENERIC: ReadonlySet<string> = new Set(
  'get set list search find create send read write run query update delete fetch lookup look add make call execute tool data info user file code command test tests item current check show open close text message value result web page'.split(
    ' ',
  ),
);
/** The functions and the characters of a question that are compared. */
const TOOLS_MAX = 64;
const TEXT_MAX = 400;
/** Words with the same first letters are the same, such as `remind` and `reminder`. */
const STEM = 5;

const knownStems = new SharedValues<readonly ToolDefinition[], ReadonlySet<string>>();

/** Returns whether a question contains a word of an offered function's name, such as `weather` for `get_weather`. */
export function namesTool(tools: readonly ToolDefinition[], question: string): boolean {
  const stems = knownStems.get(tools) ?? knownStems.set(tools, stemsOf(tools));
  const said = question
    .slice(0, TEXT_MAX)
    .toLowerCase()
    .split(/[^\p{L}]+/u);
  return said.some((word) => stems.has(word.slice(0, STEM)));
}

function stemsOf(tools: readonly ToolDefinition[]): ReadonlySet<string> {
  const words = tools.slice(0, TOOLS_MAX).flatMap(({ name }) =>
    name
      .slice(0, TEXT_MAX)
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z]+/),
  );
  return new Set(words.flatMap((word) => (word.length > 2 && !GENERIC.has(word) ? word.slice(0, STEM) : [])));
}

/** Returns whether the conversation ends in tool calls or tool results. */
export function isAmidTools(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  return last?.role === 'tool' || last?.parts.at(-1)?.type === 'tool-call';
}

/** Returns whether the model must call one of its tools. */
export function forcesTool({ toolChoice: choice }: Conversation): boolean {
  return choice === 'required' || typeof choice === 'object';
}
