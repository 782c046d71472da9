import { timingSafeEqual } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { request as ask, type ClientRequest, type IncomingMessage } from 'node:http';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Static, Type } from '@sinclair/typebox';
import { parseJson } from '../../core/json/object.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { codeOf, messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { moveDurably, writeDurably } from '../../store/durable-file.ts';
import { reasonOf } from '../../store/reason.ts';

/** How a command on a data folder reaches the parent of the processes that use the folder. */
const Door = Type.Object({
  pid: Type.Integer(),
  /** A port on the loopback address. */
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** A shared secret. The secret proves that the answering process wrote the file, and that the calling process read it. */
  token: Type.String(),
});
type Door = Static<typeof Door>;

/** One line of the answer to a restart: a sentence about a step, or the last line. */
const Step = Type.Union([
  Type.Object({ said: Type.String() }),
  Type.Object({ done: Type.Literal(true) }),
  Type.Object({ error: Type.String() }),
]);
type Step = Static<typeof Step>;

const door = new SchemaCheck(Door);
const step = new SchemaCheck(Step);

const TOKEN_BYTES = 32;
const HOST = '127.0.0.1';
const doorFile = (home: string): string => join(home, 'processes', 'parent.json');

/**
 * Opens a port through which commands restart the processes of a data folder.
 * @returns closes the port
 */
export async function openDoor(
  home: string,
  restart: (left: AbortSignal) => AsyncIterable<string>,
): Promise<() => void> {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES))).toString('base64url');
  const wanted = Buffer.from(`Bearer ${token}`);
  const server = Bun.serve({
    hostname: HOST,
    port: 0,
    // The port of the parent has no idle timeout, because a drain may take an hour.
    idleTimeout: 0,
    fetch(request) {
      const given = Buffer.from(request.headers.get('authorization') ?? '');
      const isAllowed = given.length === wanted.length && timingSafeEqual(given, wanted);
      return isAllowed ? new Response(linesOf(restart(request.signal))) : new Response(null, { status: 401 });
    },
  });
  const file = doorFile(home);
  const written: Door = { pid: process.pid, port: server.port ?? 0, token };
  await writeDurably(`${file}.new`, `${JSON.stringify(written)}\n`);
  await moveDurably(`${file}.new`, file);
  return () => {
    rmSync(file, { force: true });
    void server.stop(true);
  };
}

async function* linesOf(sentences: AsyncIterable<string>): AsyncGenerator<string> {
  const line = (next: Step) => `${JSON.stringify(next)}\n`;
  try {
    for await (const said of sentences) yield line({ said });
    yield line({ done: true });
  } catch (error) {
    yield line({ error: messageOf(error) });
  }
}

/**
 * Restarts the processes of a data folder, one after the other. `restartAt` yields a sentence on each step.
 * @throws UsageError if the restart is impossible or ends halfway
 */
export async function* restartAt(home: string): AsyncGenerator<string> {
  const answer = await answerOf(doorOf(home), home);
  for await (const line of createInterface({ input: answer })) {
    const next = parseJson(line);
    if (!step.accepts(next)) break;
    if ('done' in next) return;
    if ('error' in next) throw new UsageError(next.error);
    yield next.said;
  }
  throw new UsageError('The server ended before all of its processes were replaced.');
}

function doorOf(home: string): Door {
  const found = parseJson(textOfDoor(home) ?? '');
  if (door.accepts(found)) return found;
  throw noServer(home);
}

function textOfDoor(home: string): string | null {
  try {
    return readFileSync(doorFile(home), 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw new UsageError(`Cannot use the data folder ${resolve(home)}: ${reasonOf(cause)}.`);
  }
}

const noServer = (home: string): UsageError =>
  new UsageError(`No server with --processes runs on the data folder ${resolve(home)}.`);

/**
 * Sends the request for a restart to the parent. An answer proves that the parent wrote the file with the port: another program on this
 * port would not know the token.
 */
function answerOf({ port, token }: Door, home: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asking: ClientRequest = ask(
    { host: HOST, port, method: 'POST', path: '/restart', agent: false, headers: { authorization: `Bearer ${token}` } },
    (answer) => (answer.statusCode === 200 ? resolve(answer) : reject(noServer(home))),
  );
  asking.on('error', () => reject(noServer(home)));
  asking.end();
  return promise;
}
