import { Type } from '@sinclair/typebox';
import { VARIABLE_NAME } from '../../core/define/policy-words.ts';
import { objectOf, parseJson } from '../../core/json/object.ts';
import { parseMoment } from '../../core/time/clock.ts';
import { beforeAbort } from '../outbound.ts';
import { scrub } from '../telemetry/secrets.ts';
import { defineSource, type SourceContext, SourceError, shorten, type Token } from './source.ts';

/** The time limit of a run, ms, and the most bytes of its output. */
const RUN_MS = 10_000;
const OUTPUT_MAX = 16_384;

/** The variables that every command gets. */
const USUAL = ['PATH', 'HOME'];

export const command = defineSource(
  'command',
  'The output of a program on the server.',
  {
    run: Type.Array(Type.String({ minLength: 1, maxLength: 4_096 }), {
      minItems: 1,
      maxItems: 64,
      examples: [['/opt/bin/token', '--json']],
      description:
        'The program and its arguments. No shell reads them. The program prints the token, or JSON such as `{"token": "…", "expires_at": "2026-11-20T10:30:00Z"}`. It has 10 seconds and prints at most 16 KiB.',
    }),
    env: Type.Optional(
      Type.Array(Type.String(VARIABLE_NAME), {
        maxItems: 64,
        examples: [['VAULT_ADDR']],
        description:
          'The names of the variables that the program gets in addition to `PATH` and `HOME`. It gets no others.',
      }),
    ),
  },
  async ({ run, env = [] }, context) => readOutput(await outputOf(run, env, context)),
);

async function outputOf(
  run: readonly string[],
  names: readonly string[],
  { env, timers }: SourceContext,
): Promise<string> {
  const child = start(run, Object.fromEntries([...USUAL, ...names].map((name) => [name, env(name)])));
  const timeout = new AbortController();
  const timer = timers.after(RUN_MS, () => timeout.abort());
  try {
    const output = Promise.all([readAtMost(child.stdout), readAtMost(child.stderr), child.exited]);
    const [out, err, code] = await beforeAbort(output, timeout.signal);
    if (code === 0) return out;
    const words = shorten(scrub(err));
    throw new SourceError(`the command ended with ${child.signalCode ?? `code ${code}`}${words && `: ${words}`}`);
  } catch (cause) {
    endGroup(child.pid);
    if (timeout.signal.aborted) throw new SourceError(`the command took longer than ${RUN_MS / 1_000} s`);
    throw cause;
  } finally {
    timer.close();
  }
}

/** Ends the command and its descendants, which may live on and keep its output open. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

function start(run: readonly string[], env: Record<string, string | undefined>) {
  try {
    return Bun.spawn([...run], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', detached: true });
  } catch {
    throw new SourceError(`the program ${run[0]} cannot be started`);
  }
}

/** Reads a stream until its end. @throws SourceError for more bytes than a command may print */
async function readAtMost(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of stream) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > OUTPUT_MAX) throw new SourceError('the command printed more than 16 KiB');
  }
  return text;
}

/** Reads a token as text, or as JSON with `token` and, if known, `expires_at`. @throws SourceError */
function readOutput(output: string): Token {
  const text = output.trim();
  if (text === '') throw new SourceError('the command printed nothing');
  if (!text.startsWith('{')) {
    if (/\s/.test(text)) throw new SourceError('the command printed more than one word, which is no token');
    return { value: text, expiresAt: null };
  }
  const { token, expires_at: end } = objectOf(parseJson(text));
  if (typeof token !== 'string' || token === '')
    throw new SourceError('the output of the command begins with `{`, but it is no JSON with a `token`');
  if (end === undefined || end === null) return { value: token, expiresAt: null };
  const expiresAt = typeof end === 'number' ? end * 1_000 : parseMoment(String(end));
  if (expiresAt === null || !Number.isFinite(expiresAt))
    throw new SourceError(
      '`expires_at` of the command is neither a time such as 2026-11-20T10:30:00Z nor Unix seconds',
    );
  return { value: token, expiresAt };
}
