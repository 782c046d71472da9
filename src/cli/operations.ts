import { type Operation, TextAnswer } from '../admin/kit/operation.ts';
import { commandName } from '../core/command-name.ts';
import { SignalboxError } from '../core/errors.ts';
import { isObject, objectOf, objectsIn } from '../core/json/object.ts';
import { UsageError } from '../core/usage-error.ts';
import { onlyOne, SWITCH } from './arguments.ts';
import { inputIn, parseOwnFlags, refusalOf } from './flag-values.ts';
import { cursorOf, flagsOf } from './operation-flags.ts';
import { listIn, printed } from './printed.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { jsonText } from './text.ts';

/** This file makes the commands of operations. The flags, help and output of these commands come from the definitions of the operations. */

/**
 * Carries out an operation on the database or at a running server.
 * @returns the answer in its JSON form
 * @throws SignalboxError
 */
export type Performer = (id: string, input: object) => Promise<unknown>;

/**
 * Runs the command of an operation.
 * @returns what to print
 * @throws UsageError for wrong flags, and if the operation refuses the request
 */
export async function runOperation(
  operation: Operation,
  args: readonly string[],
  perform: Performer,
): Promise<CommandOutput> {
  const flags = [...flagsOf(operation.input)];
  const { values, positionals } = parseOwnFlags(operation, flags, args, {
    json: SWITCH,
    ...(operation.brief && { verbose: SWITCH }),
    ...(operation.confirmation !== undefined && { yes: SWITCH }),
  });
  const words = [...positionals];
  const id = operation.takesId ? idIn(operation, words.splice(0, 1)) : '';
  try {
    const input = inputIn(operation, flags, values, words);
    const isJson = wantsJson(input, values.json === true);
    if (words.length > 0) throw new UsageError(`${operation.name} does not take "${words[0]}".`);
    if (operation.method === 'PATCH' && Object.keys(input).length === 0) {
      throw new UsageError(`Name at least one change. See ${commandName()} help ${operation.name}.`);
    }
    if (operation.confirmation !== undefined && values.yes !== true) {
      throw new UsageError(`${operation.confirmation} Add --yes to do it.`);
    }
    const body = await performed(operation, id, input, perform);
    if (body instanceof TextAnswer) return body.text;
    const text = isJson ? jsonText(body) : printed(operation, body, id, values.verbose === true);
    const next = isJson ? null : nextPage(operation, body);
    return { text, code: operation.isFinding?.(body as never) ? 2 : 0, ...(next && { next }) };
  } catch (cause) {
    throw cause instanceof SignalboxError ? refusalOf(cause, flags) : cause;
  }
}

/**
 * Reads the ID argument. If the user gave a whole API key instead, the error does not repeat the key, because errors end in logs and
 * terminals.
 */
function idIn({ name, idForm }: Operation, words: readonly string[]): string {
  const id = onlyOne(words, `${name} needs ${idForm ?? 'an ID'}. The list command of the same group shows the IDs.`);
  if ((idForm ? /^.+$/ : /^[\w.:@-]{1,128}$/).test(id) && !id.startsWith('sb_')) return id;
  throw new UsageError('Give only the ID. The ID of a key is the part between sb_live_ and the next underscore.');
}

/** Whether to print the answer as JSON. `--format json` means the same as `--json`. @throws UsageError if flags contradict each other */
function wantsJson({ format }: { readonly format?: unknown }, json: boolean): boolean {
  if (json && format !== undefined && format !== 'json') {
    throw new UsageError(`--json contradicts --format ${format}. Give only one of the two flags.`);
  }
  return json || format === 'json';
}

/** Carries out an operation. For a list, reads all pages, up to the limit. */
async function performed(
  operation: Operation,
  id: string,
  input: object & { readonly limit?: unknown },
  perform: Performer,
): Promise<unknown> {
  const body = await perform(id, input);
  const cursor = cursorOf(operation);
  if (cursor === null || !isObject(body) || body.has_more !== true) return body;
  const [name = 'data'] = listIn(operation.output) ?? [];
  const rows = objectsIn(body[name]);
  const left = Number(input.limit ?? operation.commandLimit ?? Number.POSITIVE_INFINITY) - rows.length;
  if (left <= 0) return body;
  const more = {
    ...input,
    [cursor]: body.next_after ?? rows.at(-1)?.id,
    ...(Number.isFinite(left) && { limit: left }),
  };
  const rest = objectOf(await performed(operation, id, more, perform));
  return { ...rest, [name]: [...rows, ...objectsIn(rest[name])] };
}

/** Returns the flag and its value that continue a list; null on the last page, and for other answers. */
function nextPage(operation: Operation, body: unknown): CommandResult['next'] | null {
  const cursor = cursorOf(operation);
  if (cursor === null || !isObject(body) || body.has_more !== true) return null;
  return [`--${cursor}`, String(body.next_after ?? objectsIn(body.data).at(-1)?.id)];
}
