import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { ChatRequest } from '../../../src/core/api/chat-request.ts';
import { type ModelRequest, modelRequest } from '../../../src/core/request/model-request.ts';
import { MESSAGES_READER } from '../../../src/dialects/anthropic-messages/reader.ts';
import type { MessagesRequest } from '../../../src/dialects/anthropic-messages/request.ts';
import { readChatRequest } from '../../../src/dialects/openai-chat/reader.ts';
import { readResponsesRequest } from '../../../src/dialects/openai-responses/reader.ts';
import type { ResponsesRequest } from '../../../src/dialects/openai-responses/request.ts';
import claudeCode from './claude-code.json' with { type: 'json' };
import codex from './codex.json' with { type: 'json' };
import opencode from './opencode.json' with { type: 'json' };

const Verdict = Type.Union([Type.Literal('stuck'), Type.Literal('progress')]);
export type Verdict = Static<typeof Verdict>;

/** A message of the user or of the model, or a call of a tool with its result. */
const Step = Type.Union([
  Type.Object({ user: Type.String() }, { additionalProperties: false }),
  Type.Object({ say: Type.String() }, { additionalProperties: false }),
  Type.Object(
    {
      tool: Type.String(),
      /** The arguments; a string for a tool that takes plain text. */
      args: Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]),
      result: Type.String(),
      error: Type.Optional(Type.Literal(true)),
      /** The verdict from this step on. */
      verdict: Type.Optional(Verdict),
    },
    { additionalProperties: false },
  ),
]);
export type Step = Static<typeof Step>;
const SessionFile = Type.Object(
  {
    about: Type.String(),
    client: Type.String(),
    sessions: Type.Array(Type.Object({ name: Type.String(), steps: Type.Array(Step, { minItems: 1 }) })),
  },
  { additionalProperties: false },
);

export interface Session {
  readonly client: ClientName;
  readonly name: string;
  readonly steps: readonly Step[];
}

type Body = Readonly<Record<string, unknown>>;

/** A client: the path that it calls, the body of its request after some steps, and the reader of the body. */
interface Client {
  readonly path: string;
  body(steps: readonly Step[]): Body;
  read(body: Body): ModelRequest;
}

const SYSTEM = 'You are a coding agent in a terminal.';
export const isCall = (step: Step): step is Extract<Step, { tool: string }> => 'tool' in step;
const namesOf = (steps: readonly Step[]) => [...new Set(steps.flatMap((step) => (isCall(step) ? step.tool : [])))];
const argumentsOf = ({ args }: Extract<Step, { tool: string }>): string =>
  typeof args === 'string' ? args : JSON.stringify(args);
const SCHEMA = { type: 'object', properties: {} };

/** Claude Code puts all results of an answer into one message of the user. */
function messagesBody(steps: readonly Step[]): Body {
  const messages = steps.flatMap((step, at): Body[] => {
    if ('user' in step) return [{ role: 'user', content: [{ type: 'text', text: step.user }] }];
    if ('say' in step) return [{ role: 'assistant', content: [{ type: 'text', text: step.say }] }];
    const id = `toolu_${at}`;
    const result = {
      type: 'tool_result',
      tool_use_id: id,
      content: step.result,
      ...(step.error && { is_error: true }),
    };
    return [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: step.tool, input: step.args }] },
      { role: 'user', content: [result] },
    ];
  });
  const tools = namesOf(steps).map((name) => ({ name, description: name, input_schema: SCHEMA }));
  const system = [{ type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral' } }];
  return { model: 'auto', max_tokens: 4_000, system, messages: joined(messages), tools };
}

/** Messages of one role in a row are one message. */
function joined(messages: readonly Body[]): Body[] {
  const all: { role: unknown; content: unknown[] }[] = [];
  for (const { role, content } of messages as readonly { role: unknown; content: unknown[] }[]) {
    if (all.at(-1)?.role === role) all.at(-1)!.content.push(...content);
    else all.push({ role, content: [...content] });
  }
  return all.map((one) => ({ ...one }));
}

function chatBody(steps: readonly Step[]): Body {
  const messages = steps.flatMap((step, at): Body[] => {
    if ('user' in step) return [{ role: 'user', content: step.user }];
    if ('say' in step) return [{ role: 'assistant', content: step.say }];
    const id = `call_${at}`;
    const call = { id, type: 'function', function: { name: step.tool, arguments: argumentsOf(step) } };
    return [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: step.result },
    ];
  });
  const tools = namesOf(steps).map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } }));
  return { model: 'auto', max_tokens: 4_000, messages: [{ role: 'system', content: SYSTEM }, ...messages], tools };
}

function responsesBody(steps: readonly Step[], callOf: CallForm): Body {
  const input = steps.flatMap((step, at): Body[] => {
    if ('user' in step) return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: step.user }] }];
    if ('say' in step)
      return [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: step.say }] }];
    return callOf(step, `call_${at}`);
  });
  const tools = namesOf(steps).map((name) =>
    name === 'apply_patch' ? { type: 'custom', name } : { type: 'function', name, parameters: SCHEMA, strict: false },
  );
  return { model: 'auto', max_output_tokens: 4_000, instructions: SYSTEM, input, tools, store: false };
}

type CallForm = (step: Extract<Step, { tool: string }>, id: string) => Body[];

const functionCall: CallForm = (step, call_id) => {
  const isText = typeof step.args === 'string';
  const call = isText
    ? { type: 'custom_tool_call', call_id, name: step.tool, input: step.args }
    : { type: 'function_call', call_id, name: step.tool, arguments: argumentsOf(step) };
  return [call, { type: `${isText ? 'custom_tool' : 'function'}_call_output`, call_id, output: step.result }];
};

/** The form of Codex with the built-in local shell. */
const localShellCall: CallForm = (step, call_id) => {
  if (step.tool !== 'shell') return functionCall(step, call_id);
  const [, exit_code = '0', output = ''] = /^Exit code: (\d+)\n.*\nOutput:\n(.*)$/s.exec(step.result) ?? [];
  const action = { type: 'exec', env: {}, ...(typeof step.args === 'object' && { command: step.args.command }) };
  const result = JSON.stringify({ output, metadata: { exit_code: Number(exit_code), duration_seconds: 0.4 } });
  return [
    { type: 'local_shell_call', id: `lsh_${call_id}`, call_id, status: 'completed', action },
    { type: 'local_shell_call_output', id: call_id, output: result },
  ];
};

const readResponses = (body: Body) => readResponsesRequest(body as unknown as ResponsesRequest, new Headers());

export const CLIENTS = {
  'claude-code': {
    path: '/v1/messages',
    body: messagesBody,
    read: (body) => modelRequest(body as unknown as MessagesRequest, MESSAGES_READER),
  },
  codex: {
    path: '/v1/responses',
    body: (steps) => responsesBody(steps, functionCall),
    read: readResponses,
  },
  'codex-local-shell': {
    path: '/v1/responses',
    body: (steps) => responsesBody(steps, localShellCall),
    read: readResponses,
  },
  opencode: {
    path: '/v1/chat/completions',
    body: chatBody,
    read: (body) => readChatRequest(body as unknown as ChatRequest),
  },
} satisfies Record<string, Client>;
export type ClientName = keyof typeof CLIENTS;

const sessionsIn = (client: ClientName, file: unknown): Session[] =>
  Value.Decode(SessionFile, file).sessions.map((session) => ({ client, ...session }));

export const SESSIONS: readonly Session[] = [
  ...sessionsIn('claude-code', claudeCode),
  ...sessionsIn('codex', codex),
  ...sessionsIn('codex-local-shell', codex),
  ...sessionsIn('opencode', opencode),
];

/** Yields each beginning of a session that a client sends, because a step of the user or a result was added, with its verdict. */
export function* turnsOf({ steps }: Pick<Session, 'steps'>): Generator<{ steps: readonly Step[]; verdict: Verdict }> {
  let verdict: Verdict = 'progress';
  for (const [at, step] of steps.entries()) {
    if ('say' in step) continue;
    if ('tool' in step && step.verdict) verdict = step.verdict;
    yield { steps: steps.slice(0, at + 1), verdict };
  }
}
