import { existsSync, statSync } from 'node:fs';
import type { TSchema } from '@sinclair/typebox';
import type { Facts } from '../../core/facts.ts';
import type { RouteRequest } from '../../core/route-query.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Explanation } from '../../gateway/explain.ts';
import type { Diagnostic } from '../../policy/diagnostics.ts';
import type { Certificate } from '../../routing/certificate.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type PolicyBundle, PolicySourceError, readBundle } from '../../runtime/source.ts';

/** The operator's wish that a command end. */
interface Ending {
  /** Aborted by Ctrl-C and the like, which do not end the process meanwhile. */
  readonly signal: AbortSignal;
  /** From here on they do again. */
  forget(): void;
}

/** What commands on a policy are given. */
export interface PolicyCommand {
  /** All that judging takes but the folder; `env` is the real environment. */
  readonly judge: Omit<PolicyTools, 'folder'>;
  /** The folder to judge unless the arguments name one. */
  readonly folder: string;
  /** The folder that it is where nobody says another. */
  readonly shippedFolder: string;
  /** The database, which need not exist. */
  readonly database: string;
  /** For a terminal: colours, and lines that fit. */
  readonly terminal: boolean;
  /** All that comes in by the standard input. */
  readonly input: () => Promise<string>;
  /** Writes at once, for a command that goes on. */
  readonly write: (text: string) => Promise<void>;
  /** For a command that goes on. */
  readonly ended: () => Ending;
  readonly http: HttpForms;
}

/** The API's own checks and forms: what is asked and told on the command line is the same. */
export interface HttpForms {
  /** Compiles a schema to a check that throws SignalboxError for the field at fault. */
  compileCheck(schema: TSchema): (value: unknown) => void;
  /** The body of `POST /v1/route`. Throws SignalboxError for the field at fault. */
  readRoute(body: unknown): RouteRequest;
  factsBody(facts: Facts): object;
  certificateBody(certificate: Certificate, facts: Facts): object;
  /** As `GET /v1/decisions/{id}` answers. */
  decisionBody(explanation: Explanation): object;
}

export const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** Reads the files of a policy. Throws UsageError. */
export async function readPolicy(folder: string): Promise<PolicyBundle> {
  try {
    return await readBundle(folder);
  } catch (cause) {
    if (cause instanceof PolicySourceError)
      throw new UsageError(cause.message.replace('; name another with --policies', ''));
    throw cause;
  }
}

/** `serve` would not start: what every provider lacks is the hint. */
export const nothingServes = (folder: string, { hint, message }: Diagnostic): UsageError =>
  new UsageError(`No provider of ${folder} can serve with the variables that are set here: ${hint ?? message}.`);

/** The policy as `serve` would have it in this environment. Throws UsageError. */
export async function runtimeOf(folder: string, tools: PolicyCommand['judge']): Promise<Runtime> {
  const judged = await buildCandidate(await readPolicy(folder), { ...tools, folder });
  if (!isRejected(judged)) return judged.runtime;
  const idle = judged.problems.find(({ code }) => code === 'nothing-to-serve');
  if (idle) throw nothingServes(folder, idle);
  const why = judged.message ?? '`serve` would refuse this policy; signalbox policy check tells why';
  throw new UsageError(`${folder}: ${why.replace(/\.$/, '')}.`);
}
