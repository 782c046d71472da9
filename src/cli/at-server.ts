import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Operation, TextAnswer } from '../admin/kit/operation.ts';
import { isMap } from '../admin/kit/values.ts';
import {
  BEHIND_HEADER,
  FROM_HEADER,
  NAME_HEADER,
  SOCKET_NAME,
  WARNINGS_HEADER,
} from '../admin/use-cases/operator-socket.ts';
import { notServed } from '../admin/use-cases/served.ts';
import { ERRORS, type ErrorCode, SignalboxError } from '../core/errors.ts';
import { objectOf, parseJson, textOf } from '../core/json/object.ts';
import { codeOf, messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Performer } from './operations.ts';
import type { commandActor } from './user.ts';

/** How long a command waits for the running server, ms. */
const ANSWER_MS = 2_000;
/** The largest answer that a command reads, bytes. Another program in the data folder could pretend to be the server. */
const ANSWER_BYTES_MAX = 67_108_864;
/** The server never compresses its answers, so a small answer cannot become a large one. */
const UNPACKED = { decompress: false } as const;

/**
 * Finds the server that uses a data folder.
 * @returns its socket, or null if no server is reachable, so that the command works on the database itself
 * @throws UsageError if the server does not answer
 */
export async function socketOf(data: string): Promise<string | null> {
  const socket = join(data, SOCKET_NAME);
  if (!existsSync(socket)) return null;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch('http://localhost/healthz', { unix: socket, signal, ...UNPACKED });
    await answer.body?.cancel();
    return socket;
  } catch (cause) {
    // If the connection fails, the server was killed or is just stopping.
    if (!(cause instanceof DOMException)) return null;
    throw new UsageError(
      `The server of ${data} does not answer within ${ANSWER_MS / 1_000} s. Add --offline to change its database directly; the server applies the change later.`,
    );
  }
}

/** Returns a function that carries out operations at a running server, on behalf of the user who runs the command. */
export const atServer =
  (
    socket: string,
    operation: Operation,
    { name, from }: ReturnType<typeof commandActor>,
    warn: (text: string) => void,
  ): Performer =>
  async (id, input) => {
    const { method, path, isLong } = operation;
    const isRead = method === 'GET';
    const query = isRead ? queryOf(operation, input) : '';
    const answer = await fetch(`http://localhost${path.replace(':id', encodeURIComponent(id))}${query}`, {
      unix: socket,
      ...UNPACKED,
      method,
      // An operation may take longer than the engine waits for the first byte.
      ...(isLong && { timeout: false }),
      headers: {
        'content-type': 'application/json',
        [NAME_HEADER]: encodeURIComponent(name),
        ...(from !== null && { [FROM_HEADER]: encodeURIComponent(from) }),
      },
      ...(!isRead && operation.input && { body: JSON.stringify(input) }),
    }).catch(ended);
    const behind = answer.headers.get(BEHIND_HEADER);
    if (behind) warn(`The change is saved. ${notServed(behind.split(',').map(decodeURIComponent))}`);
    const warnings = answer.headers.get(WARNINGS_HEADER);
    if (warnings) for (const one of warnings.split(',')) warn(decodeURIComponent(one));
    const text = await boundedText(answer).catch(ended);
    const mediaType = answer.headers.get('content-type')?.split(';', 1)[0] ?? '';
    if (answer.ok && mediaType !== 'application/json') return new TextAnswer(text, mediaType, '');
    const body = parseJson(text);
    if (answer.ok) return body;
    throw errorIn(body, answer.status);
  };

/** @throws UsageError because the server ended its answer early */
function ended(cause: unknown): never {
  if (cause instanceof UsageError) throw cause;
  throw new UsageError(
    `The server ended before it answered (${codeOf(cause) || messageOf(cause)}). Check whether the change was made.`,
  );
}

/** @throws UsageError for an answer that is too large */
async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) {
      throw new UsageError(
        `The answer of the server has more than ${ANSWER_BYTES_MAX / 2 ** 20} MiB. Ask for less, for example with --limit, or check which program uses ${SOCKET_NAME} in the data folder.`,
      );
    }
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** Reads the error in an answer of the server. */
function errorIn(body: unknown, status: number): SignalboxError {
  const { code, message, param } = objectOf(objectOf(body).error);
  const known = textOf(code);
  return new SignalboxError(
    isErrorCode(known) ? known : 'internal_error',
    textOf(message) || `The server answered with status ${status}.`,
    typeof param === 'string' ? { param } : {},
  );
}

const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);

/** Writes the input of an operation as the parameters of a query. */
function queryOf({ input: schema }: Operation, input: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries<unknown>({ ...input })) {
    const field = schema?.properties[name];
    const pairs = field && isMap(field) ? Object.entries(objectOf(value)).map(([key, one]) => `${key}=${one}`) : null;
    for (const one of pairs ?? [value].flat()) query.append(name, String(one));
  }
  return query.size > 0 ? `?${query}` : '';
}
