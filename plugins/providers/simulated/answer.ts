import type { ChatMessage, ChatRequest } from 'signalbox/plugin';
import type { ChatCall } from '../chat-call.ts';
import { instanceOf } from './instance.ts';
import { textOfMessage } from './tokens.ts';

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
export function answerOf(call: ChatCall, choice: number): SimulatedAnswer {
  const { request } = call;
  const tool = toolToCall(request);
  if (tool) {
    // The message count makes IDs unique within a conversation.
    const id = `call_simulated_${request.messages.length}_${choice}`;
    return { text: JSON.stringify(instanceOf(tool.parameters)), tool: { id, name: tool.name } };
  }
  const format = request.response_format;
  if (format?.type === 'json_schema') {
    return { text: JSON.stringify(instanceOf(format.json_schema.schema ?? { type: 'object' })), tool: null };
  }
  if (format?.type === 'json_object') {
    const fields = { simulated: true, model: call.upstream, you_said: echoOf(request), note: HOW_TO };
    return { text: JSON.stringify(fields), tool: null };
  }
  return { text: prose(call, choice), tool: null };
}

function prose(call: ChatCall, choice: number): string {
  const { request } = call;
  const echo = echoOf(request);
  const said = isToolResult(request.messages.at(-1)) ? 'The tool answered' : 'You said';
  const which = (request.n ?? 1) > 1 ? ` (choice ${choice + 1} of ${request.n})` : '';
  return `This is a simulated answer by "${call.upstream}"${which}: no real model was asked. ${
    echo === '' ? '' : `${said}: "${echo}". `
  }${HOW_TO}`;
}

interface CalledTool {
  readonly name: string;
  readonly parameters: unknown;
}

/** The tool to call, by `tool_choice`; null for a text answer. */
function toolToCall(request: ChatRequest): CalledTool | null {
  const tools = request.tools ?? [];
  const choice = request.tool_choice ?? 'auto';
  if (choice === 'none') return null;
  if (typeof choice === 'object') {
    const { name } = choice.function;
    return { name, parameters: tools.find((tool) => tool.function.name === name)?.function.parameters };
  }
  // After a tool's result a model answers with text: only `required` forces another call.
  if (choice === 'auto' && isToolResult(request.messages.at(-1))) return null;
  const words = wordsOf(lastOfUser(request));
  const fits = (name: string, description: string) => !wordsOf(`${name} ${description}`).isDisjointFrom(words);
  const tool = tools.find(({ function: fn }) => fits(fn.name, fn.description ?? '')) ?? tools[0];
  return tool ? { name: tool.function.name, parameters: tool.function.parameters } : null;
}

function isToolResult(message: ChatMessage | undefined): boolean {
  return message?.role === 'tool' || message?.role === 'function';
}

function lastOfUser(request: ChatRequest): string {
  const message = request.messages.findLast(({ role }) => role === 'user');
  return message ? textOfMessage(message) : '';
}

/** The distinctive words of a text. */
function wordsOf(text: string): Set<string> {
  return new Set(
    text
      .slice(0, 2_000)
      .toLowerCase()
      .match(/\p{L}{4,}/gu) ?? [],
  );
}

function echoOf(request: ChatRequest): string {
  const last = request.messages.at(-1);
  const text = (last ? textOfMessage(last) : '').slice(0, 2_000).replace(/\s+/g, ' ').trim();
  const chars = Array.from(text);
  return chars.length > ECHO_MAX ? `${chars.slice(0, ECHO_MAX).join('')}…` : text;
}
