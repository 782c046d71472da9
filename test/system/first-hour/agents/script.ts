import { isObject, listOf, objectOf, textOf } from '../../../../plugins/providers/json.ts';
import type { Behaviour, RecordedRequest } from '../../../support/fake-upstream.ts';

export const FILE = 'greeting.txt';
export const BEFORE = 'Hello\n';
export const AFTER = 'Hello, world\n';

/** The prompts for the agents. */
export const PROMPTS = {
  hello: 'Say hello',
  answer: 'Name the arm that stops a train, in one word.',
  edit: `Make ${FILE} greet the world.`,
  turns: ['This is the first turn.', 'This is the second turn.', 'This is the third turn.'],
} as const;

/** The text with which the model ends each answer. */
export const ANSWERS = {
  answer: 'Semaphore.',
  edit: 'The greeting greets the world.',
  turns: ['I have seen 1 turn.', 'I have seen 2 turns.', 'I have seen 3 turns.'],
} as const;

/** An offered tool, in any dialect. */
interface OfferedTool {
  readonly name: string;
  readonly parameters: readonly string[];
}

interface Call {
  readonly name: string;
  readonly arguments: string;
}

/**
 * Plays the model for every agent: it answers, edits the file with an offered tool, and counts the turns of the conversation.
 * @param folder the agent's folder
 */
export function answerAgent(request: RecordedRequest, folder: string): Behaviour {
  const { tools, schema, turns } = request.asked;
  // Agents request titles without tools.
  if (tools.length === 0) return { text: schema === null ? 'A greeting' : '{"title":"A greeting"}' };
  const said = turns.flatMap(({ role, text }) => (role === 'user' ? [text] : [])).join('\n');
  const seen = PROMPTS.turns.filter((prompt) => said.includes(prompt)).length;
  if (seen > 0) return { text: ANSWERS.turns[seen - 1]! };
  if (said.includes(PROMPTS.answer)) return { text: ANSWERS.answer };
  if (!said.includes(PROMPTS.edit)) return { text: 'There is nothing to do.' };
  const done = turns.reduce((count, { results }) => count + results.length, 0);
  const call = callsToEdit(offeredBy(request), `${folder}/${FILE}`)[done];
  return call ? { toolCalls: [call] } : { text: ANSWERS.edit };
}

function offeredBy({ body }: RecordedRequest): OfferedTool[] {
  return listOf(body.tools).map((tool) => {
    const own = objectOf(isObject(tool) ? (tool.function ?? tool) : tool);
    const { properties } = objectOf(own.parameters ?? own.input_schema);
    return { name: textOf(own.name), parameters: Object.keys(objectOf(properties)) };
  });
}

/** Reads the file if there is a tool for it, because several agents demand this, and replaces its text. */
function callsToEdit(tools: readonly OfferedTool[], path: string): Call[] {
  const editor = toolWith(tools, /^old_?(?:string|text)$/i, /^new_?(?:string|text)$/i, PATH);
  if (!editor) return [patchByShell(tools)];
  const reader = tools.find(({ name, parameters }) => /^read/i.test(name) && parameters.some((one) => PATH.test(one)));
  const at = (tool: OfferedTool): string => tool.parameters.find((name) => PATH.test(name))!;
  const named = (pattern: RegExp): string => editor.parameters.find((name) => pattern.test(name))!;
  const edit = { [at(editor)]: path, [named(/^old/i)]: BEFORE.trim(), [named(/^new/i)]: AFTER.trim() };
  return [
    ...(reader ? [{ name: reader.name, arguments: JSON.stringify({ [at(reader)]: path }) }] : []),
    { name: editor.name, arguments: JSON.stringify(edit) },
  ];
}

const PATH = /^(?:file_?)?path$/i;

const toolWith = (tools: readonly OfferedTool[], ...patterns: readonly RegExp[]): OfferedTool | undefined =>
  tools.find(({ parameters }) => patterns.every((pattern) => parameters.some((name) => pattern.test(name))));

/** Codex edits files with a patch inside a shell command. */
function patchByShell(tools: readonly OfferedTool[]): Call {
  const shell = toolWith(tools, /^cmd$/);
  if (!shell) throw new Error(`no tool edits a file: ${JSON.stringify(tools)}`);
  const patch = `*** Begin Patch\n*** Update File: ${FILE}\n@@\n-${BEFORE.trim()}\n+${AFTER.trim()}\n*** End Patch`;
  return { name: shell.name, arguments: JSON.stringify({ cmd: `apply_patch <<'EOF'\n${patch}\nEOF` }) };
}
