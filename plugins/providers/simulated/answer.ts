import type { ModelRequest, ProviderCall, ToolDefinition, Turn } from 'signalbox/plugin';
import { instanceOf } from './instance.ts';
import { textOfTurn } from './tokens.ts';

/** The most characters of the prompt that are echoed. */
const ECHO_MAX = 160;

const HOW_TO =
  'For real answers, give the gateway a provider: set OPENAI_API_KEY (or the key of another provider in the policy, or the address of a local server) in its environment and start it again.';

/** The answer of one choice: a text, or the arguments of a tool call. */
export interface SimulatedAnswer {
  readonly text: string;
  readonly tool: { readonly id: string; readonly name: string } | null;
}

/** Generates the answer of a choice. Deterministic. */
export function answerOf(call: ProviderCall, choice: number): SimulatedAnswer {
  const { request } = call;
  const tool = toolToCall(request);
  if (tool) {
    // The message count makes IDs unique within a conversation.
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
  const said = isToolResult(request.conversation.turns.at(-1)) ? 'The tool answered' : 'You said';
  const which = choices > 1 ? ` (choice ${choice + 1} of ${choices})` : '';
  return `This is a simulated answer by "${call.upstream}"${which}: no real model was asked. ${
    echo === '' ? '' : `${said}: "${echo}". `
  }${HOW_TO}`;
}

/** The tool to call, by `tool_choice`; null for a text answer. */
function toolToCall(request: ModelRequest): Pick<ToolDefinition, 'name' | 'parameters'> | null {
  const { tools, toolChoice: choice = 'auto' } = request.conversation;
  if (choice === 'none') return null;
  if (typeof choice === 'object') return tools.find(({ name }) => name === choice.name) ?? choice;
  // After a tool's result a model answers with text: only `required` forces another call.
  if (choice === 'auto' && isToolResult(request.conversation.turns.at(-1))) return null;
  const words = wordSet(lastOfUser(request));
  const fits = (name: string, description: string) => !wordSet(`${name} ${description}`).isDisjointFrom(words);
  return tools.find(({ name, description = '' }) => fits(name, description)) ?? tools[0] ?? null;
}

const isToolResult = (turn: Turn | undefined): boolean => turn?.role === 'tool';

function lastOfUser(request: ModelRequest): string {
  const turn = request.conversation.turns.findLast(({ role }) => role === 'user');
  return turn ? textOfTurn(turn) : '';
}

/** The distinctive words of a text. */
function wordSet(text: string): Set<string> {
  return new Set(
    text
      .slice(0, 2_000)
      .toLowerCase()
      .match(/\p{L}{4,}/gu) ?? [],
  );
}

function echoOf(request: ModelRequest): string {
  const last = request.conversation.turns.at(-1);
  const text = (last ? textOfTurn(last) : '').slice(0, 2_000).replace(/\s+/g, ' ').trim();
  const chars = Array.from(text);
  return chars.length > ECHO_MAX ? `${chars.slice(0, ECHO_MAX).join('')}…` : text;
}
