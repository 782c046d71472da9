import type { ModelRequest, ProviderCall, ToolDefinition, Turn } from 'signalbox/plugin';
import { instanceOf } from './instance.ts';
import { textOfTurn } from './tokens.ts';

/** The maximum number of characters of the prompt that are echoed. */
const ECHO_MAX = 160;

/**
 * The maximum number of characters of a question for which `auto` calls a tool. A text longer than `QUESTION_MAX` is an agent's
 * instructions.
 */
const QUESTION_MAX = 500;

const HOW_TO =
  'For real answers, configure a provider: set OPENAI_API_KEY (or the key of another provider in the policy, or the address of a local server) in the environment of the gateway and restart it.';

/** The answer of one choice: a text, or the arguments of a tool call. */
export interface SimulatedAnswer {
  readonly text: string;
  readonly tool: { readonly id: string; readonly name: string } | null;
}

/** Generates the answer of a choice. The answer is deterministic. */
export function answerOf(call: ProviderCall, choice: number): SimulatedAnswer {
  const { request } = call;
  const tool = toolToCall(request);
  if (tool) {
    // The number of messages makes IDs unique within a conversation.
    const id = `call_simulated_${request.conversation.turns.length}_${choice}`;
    return { text: JSON.stringify(instanceOf(tool.parameters)), tool: { id, name: tool.name } };
  }
  const format = request.settings.answerFormat;
  if (format?.type === 'json-schema') {
    return { text: JSON.stringify(instanceOf(format.schema ?? { type: 'object' })), tool: null };
  }
  if (format?.type === 'json') {
    const fields = { simulated: true, model: call.upstream, you_said: echoOf(request), note: HOW_TO };
    return { text: JSON.stringify(fields), tool: null };
  }
  return { text: prose(call, choice), tool: null };
}

function prose(call: ProviderCall, choice: number): string {
  const { request } = call;
  const { choices = 1 } = request.settings;
  const echo = echoOf(request);
  const said = toolResultIn(request.conversation.turns) ? 'The tool answered' : 'You said';
  const which = choices > 1 ? ` (choice ${choice + 1} of ${choices})` : '';
  return `This is a simulated answer by "${call.upstream}"${which}, not from a real model. ${
    echo === '' ? '' : `${said}: "${echo}". `
  }${HOW_TO}`;
}

/**
 * Returns the tool to call according to `tool_choice`; null for a text answer. `auto` calls only a tool whose name shares a word with a
 * short question, because agents offer dozens of tools, some of which start further agents.
 */
function toolToCall(request: ModelRequest): Pick<ToolDefinition, 'name' | 'parameters'> | null {
  const { turns, tools, toolChoice: choice = 'auto' } = request.conversation;
  if (choice === 'none') return null;
  if (typeof choice === 'object') return tools.find(({ name }) => name === choice.name) ?? choice;
  const question = questionIn(turns);
  const words = wordSet(question);
  const fits = (text: string) => !wordSet(text).isDisjointFrom(words);
  if (choice === 'auto') {
    if (toolResultIn(turns) || question.length > QUESTION_MAX) return null;
    return tools.find(({ name }) => fits(name)) ?? null;
  }
  return tools.find(({ name, description = '' }) => fits(`${name} ${description}`)) ?? tools[0] ?? null;
}

/**
 * Returns the last tool result since the model's last turn. The tool result need not be the last turn, because agents add notes after it.
 */
const toolResultIn = (turns: readonly Turn[]): Turn | undefined =>
  turns.slice(turns.findLastIndex(({ role }) => role === 'assistant') + 1).findLast(({ role }) => role === 'tool');

/** Returns the last text of the user's last turn, because agents put their notes before the user's own words. */
function questionIn(turns: readonly Turn[]): string {
  const turn = turns.findLast(({ role }) => role === 'user');
  return turn?.parts.findLast((part) => part.type === 'text')?.text ?? '';
}

/** Returns the distinctive words of a text or of a tool's name, such as `getWeather`. */
function wordSet(text: string): Set<string> {
  return new Set(
    text
      .slice(0, 2_000)
      .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
      .toLowerCase()
      .match(/\p{L}{4,}/gu) ?? [],
  );
}

function echoOf({ conversation: { turns } }: ModelRequest): string {
  const result = toolResultIn(turns);
  const text = (result ? textOfTurn(result) : questionIn(turns)).slice(0, 2_000).replace(/\s+/g, ' ').trim();
  const chars = Array.from(text);
  return chars.length > ECHO_MAX ? `${chars.slice(0, ECHO_MAX).join('')}…` : text;
}
